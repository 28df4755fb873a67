//! Loading a memory specialist for a run that is being played, beside the screen.
//!
//! Owns the order of wishes: the last one counts. Must not decide when it takes over; that is the agent's work.

use std::sync::Arc;

use crossbeam_channel::Sender;

use super::data::{Data, Event};
use crate::agent::{self, Controls};
use crate::config::{Settings, Workspace};
use crate::jobs::Cancel;
use crate::llm::ModelOptions;
use crate::types::RunMeta;

/// What is needed to exchange the specialist of a run.
pub(super) struct Wish {
    pub(super) workspace: Workspace,
    pub(super) settings: Settings,
    pub(super) controls: Controls,
    pub(super) meta: Arc<RunMeta>,
    /// What was asked for; `None` leaves all to the base.
    pub(super) spec: Option<String>,
    /// Set when something else is wished for in between.
    pub(super) cancel: Cancel,
}

impl Wish {
    /// Loads it and lets it take over. The one before stays where that fails.
    pub(super) fn fulfil(self, events: &Sender<Event>) -> Data {
        match self.exchange(events) {
            Ok(said) => Data::Exchanged(said),
            Err(error) => Data::Failed(format!("{error:#}; the specialist stays as it is")),
        }
    }

    fn exchange(self, events: &Sender<Event>) -> anyhow::Result<String> {
        let over = || anyhow::anyhow!("the run is over");
        let Some(spec) = &self.spec else {
            return match self.controls.swap_specialist(None) {
                true => Ok("one model does all from the next step on".to_owned()),
                false => Err(over()),
            };
        };
        let (base, _) = self.controls.models().ok_or_else(over)?;
        let _ = events.try_send(Event::Data(Data::Progress {
            what: format!("loading {spec}"),
            done: 0,
            total: 0,
        }));
        let options = ModelOptions {
            slots: Some(self.meta.workers.saturating_mul(2)),
            exact: self.meta.exact,
            ..ModelOptions::of(&self.workspace, &self.settings)
        };
        let specialist = agent::open_specialist(&base, spec, &self.meta.world.name, &options)?;
        let name = specialist.describe().name;
        if self.cancel.is_cancelled() {
            return Ok(format!(
                "{name} is not needed any more: another specialist was wished for"
            ));
        }
        match self.controls.swap_specialist(Some(specialist)) {
            true => Ok(format!("{name} is the memory specialist from the next step on")),
            false => Err(over()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{RunHandle, RunPlan};
    use crate::scaffold::Scaffold;
    use crate::types::Sampling;

    fn run(folder: &std::path::Path) -> (Workspace, RunHandle) {
        let workspace = Workspace::at(folder);
        let plan = RunPlan {
            world: "crafter".into(),
            scaffold: Scaffold::named("crafter-v0", &workspace).unwrap(),
            model: agent::open_model("scripted", "crafter", &ModelOptions::default()).unwrap(),
            specialist: None,
            seeds: vec![42],
            max_steps: 1000,
            workers: 1,
            sampling: Sampling::default(),
            exact: false,
            out: folder.join("run.db"),
        };
        let handle = agent::start(plan).unwrap();
        handle.controls.pause();
        (workspace, handle)
    }

    fn wish(workspace: &Workspace, handle: &RunHandle, spec: Option<&str>) -> Data {
        let wish = Wish {
            workspace: workspace.clone(),
            settings: Settings::default(),
            controls: handle.controls.clone(),
            meta: Arc::new(crate::tui::testing::meta()),
            spec: spec.map(str::to_owned),
            cancel: Cancel::new(),
        };
        wish.fulfil(&crossbeam_channel::unbounded().0)
    }

    #[test]
    fn a_specialist_takes_over_and_what_cannot_be_leaves_it() {
        let dir = tempfile::tempdir().unwrap();
        let (workspace, handle) = run(dir.path());
        let now = || handle.controls.models().unwrap().1.map(|model| model.describe().name);
        let Data::Exchanged(said) = wish(&workspace, &handle, Some("scripted")) else {
            panic!()
        };
        assert!(said.starts_with("scripted is the memory specialist"), "{said}");
        assert_eq!(now().as_deref(), Some("scripted"));
        for (spec, why) in [("nobody", "no adapters are in"), ("recorded:/no/such", "/no/such")] {
            let Data::Failed(said) = wish(&workspace, &handle, Some(spec)) else {
                panic!("{spec}")
            };
            assert!(said.contains(why) && said.ends_with("stays as it is"), "{said}");
            assert_eq!(now().as_deref(), Some("scripted"));
        }
        assert!(matches!(wish(&workspace, &handle, None), Data::Exchanged(_)));
        assert_eq!(now(), None);
        let controls = handle.controls.clone();
        controls.stop();
        controls.resume();
        handle.wait().unwrap();
        assert!(controls.models().is_none());
        assert!(!controls.swap_specialist(None));
    }
}
