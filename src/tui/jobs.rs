//! Jobs of the edge, each on a thread of its own: list runs, search, start a run, fetch a model,
//! compare scaffolds. They report as events and never touch the screen.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::data::{
    Data, DiffLine, Event, FilterNews, Place, RunEntry, RunState, ScaffoldDiff, SearchNews, StartRequest,
};
use super::filter::{self, Filter};
use super::pace::{Pace, paced};
use crate::agent::{self, RunHandle, RunPlan};
use crate::config::Workspace;
use crate::jobs::Cancel;
use crate::llm::{ModelOptions, catalog, pull};
use crate::scaffold::{self, LineTag, Scaffold};
use crate::store::{Reader, Registry};
use crate::types::{Sampling, ScaffoldRef, StepNo};

/// Steps an episode takes that is started here.
const STEPS: u32 = 500;
/// Time between two reports of progress.
const REPORT: Duration = Duration::from_millis(100);

/// Starts a thread that sends one piece of data at its end.
pub(super) fn spawn(events: &Sender<Event>, work: impl FnOnce(&Sender<Event>) -> Data + Send + 'static) {
    let events = events.clone();
    let began = std::thread::Builder::new().name("job".into()).spawn({
        let events = events.clone();
        move || {
            let data = work(&events);
            // A screen that is gone needs no answer.
            let _ = events.send(Event::Data(data));
        }
    });
    if let Err(error) = began {
        let _ = events.try_send(Event::Data(Data::Failed(format!(
            "no thread could be started: {error}; close other programs"
        ))));
    }
}

/// All runs of the workspace, and the models that are there.
pub(super) fn list(workspace: &Workspace) -> Data {
    let models = catalog::names(&workspace.models_dir());
    let listed = Registry::open(workspace).and_then(|registry| registry.runs());
    match listed {
        Ok(runs) => Data::Runs {
            entries: runs.into_iter().map(entry).collect(),
            models,
        },
        Err(error) => Data::Failed(error.to_string()),
    }
}

fn entry(run: crate::store::ListedRun) -> RunEntry {
    match run.content {
        Ok(content) => RunEntry {
            path: run.path,
            created: content.meta.created,
            world: content.meta.world.name,
            scaffold: content.meta.scaffold.name,
            model: content.meta.model.name,
            is_llm: content.meta.model.is_llm,
            episodes: content.episodes,
            max_steps: content.meta.max_steps,
            state: match (content.finished, content.live) {
                (true, _) => RunState::Done,
                (false, true) => RunState::Running,
                (false, false) => RunState::Open,
            },
        },
        Err(error) => RunEntry {
            path: run.path,
            created: String::new(),
            world: String::new(),
            scaffold: String::new(),
            model: String::new(),
            is_llm: true,
            episodes: Vec::new(),
            max_steps: 0,
            state: RunState::Broken(error.to_string()),
        },
    }
}

/// Searches a run.
pub(super) fn search(path: PathBuf, text: &str, cancel: &Cancel, events: &Sender<Event>) -> Data {
    let mut reported = Instant::now();
    let mut progress = |progress: crate::store::Progress| {
        if reported.elapsed() >= REPORT {
            reported = Instant::now();
            let news = SearchNews::Progress(progress.done as u64, progress.total as u64);
            let _ = events.try_send(Event::Data(Data::Search(news)));
        }
    };
    let found = Reader::open(path).and_then(|reader| reader.search(text, cancel, &mut progress));
    Data::Search(match found {
        Ok(hits) => SearchNews::Found(
            hits.into_iter()
                .map(|hit| Place {
                    episode: hit.episode,
                    step: hit.step,
                    event: hit.event,
                    what: format!("{}: {}", hit.place, hit.excerpt),
                })
                .collect(),
        ),
        Err(_) if cancel.is_cancelled() => SearchNews::Found(Vec::new()),
        Err(error) => SearchNews::Failed(error.to_string()),
    })
}

/// Finds the steps of a run that a filter lets something of through.
pub(super) fn filter(path: PathBuf, filter: Filter, cancel: &Cancel, events: &Sender<Event>) -> Data {
    let mut reported = Instant::now();
    let mut progress = |progress: crate::store::Progress| {
        if reported.elapsed() >= REPORT {
            reported = Instant::now();
            let news = FilterNews::Progress(progress.done as u64, progress.total as u64);
            let _ = events.try_send(Event::Data(Data::Filter(news)));
        }
    };
    let found = Reader::open(path).and_then(|reader| {
        // What comes after this look is asked for later.
        let seen = reader.episodes()?.into_iter();
        let seen = seen.map(|summary| (summary.episode, StepNo(summary.steps))).collect();
        Ok((filter::sift(&reader, &filter, cancel, &mut progress)?, seen))
    });
    Data::Filter(match found {
        Ok((matches, seen)) => FilterNews::Found { filter, matches, seen },
        Err(error) => FilterNews::Failed(error.to_string()),
    })
}

/// Starts a run in the workspace.
///
/// # Errors
/// Cause and next step, in words.
pub(super) fn start(workspace: &Workspace, request: &StartRequest) -> anyhow::Result<(RunHandle, Option<Pace>)> {
    let world = "crafter";
    let scaffold = Scaffold::named(&request.scaffold, workspace)?;
    let options = ModelOptions {
        slots: Some(2),
        ..ModelOptions::in_workspace(workspace)
    };
    let (model, pace) = paced(agent::open_model(&request.model, world, &options)?);
    let plan = RunPlan {
        world: world.to_owned(),
        out: fresh_name(workspace, &request.scaffold),
        scaffold,
        model,
        seeds: vec![request.seed],
        max_steps: STEPS,
        workers: 1,
        sampling: Sampling::default(),
        exact: false,
    };
    Ok((agent::start(plan)?, pace))
}

/// A file in the workspace's folder of runs that does not exist: `20260107-153012-crafter-v0.db`.
fn fresh_name(workspace: &Workspace, scaffold: &str) -> PathBuf {
    let now = jiff::ZonedDateTime::now().strftime("%Y%m%d-%H%M%S");
    let folder = workspace.runs_dir();
    let mut path = folder.join(format!("{now}-{scaffold}.db"));
    let mut number = 2;
    while path.exists() || agent::memory_folder(&path).exists() {
        path = folder.join(format!("{now}-{scaffold}-{number}.db"));
        number += 1;
    }
    path
}

/// Fetches a known model.
pub(super) fn pull_model(
    workspace: &Workspace,
    request: StartRequest,
    cancel: &Cancel,
    events: &Sender<Event>,
) -> Data {
    let Some(known) = catalog::known(&request.model) else {
        return Data::Failed(format!(
            "no model `{}` is known; `automem model list` shows them",
            request.model
        ));
    };
    let mut reported = Instant::now();
    let mut progress = |progress: pull::PullProgress| {
        if reported.elapsed() >= REPORT {
            reported = Instant::now();
            let _ = events.try_send(Event::Data(Data::Progress {
                what: format!("{} {}", progress.stage.word(), known.name),
                done: progress.done,
                total: progress.total,
            }));
        }
    };
    let source = pull::Source::Known(known);
    match pull::pull(&source, known.name, &workspace.models_dir(), cancel, &mut progress) {
        Ok(_) => Data::Pulled(request),
        Err(error) => Data::Failed(error.to_string()),
    }
}

/// Compares the run's scaffold with another: the one named, else its parent, else the first other.
pub(super) fn diff(workspace: &Workspace, ours: &ScaffoldRef, against: Option<String>) -> Data {
    let mut others: Vec<String> = Scaffold::list(workspace).into_iter().map(|known| known.name).collect();
    others.dedup();
    // The library's own copy is only of interest when the run used another text.
    others.retain(|name| {
        *name != ours.name || Scaffold::files_named(name, workspace).is_ok_and(|files| files != ours.files)
    });
    if let Some(at) = others.iter().position(|name| Some(name) == ours.parent.as_ref()) {
        others.swap(0, at);
    }
    let Some(name) = against.or_else(|| others.first().cloned()) else {
        return Data::Note("there is no other scaffold to compare with".to_owned());
    };
    match Scaffold::files_named(&name, workspace) {
        Ok(files) => Data::Diff(Box::new(ScaffoldDiff {
            lines: lines(&scaffold::diff(&files, &ours.files)),
            against: name,
            others,
        })),
        Err(error) => Data::Failed(error.to_string()),
    }
}

fn lines(files: &[scaffold::FileDiff]) -> Vec<DiffLine> {
    let mut out = Vec::new();
    for file in files {
        let what = match (file.added, file.removed) {
            (true, _) => " (new)",
            (_, true) => " (gone)",
            _ => "",
        };
        out.push(DiffLine::File(format!("{}{what}", file.path)));
        for (index, hunk) in file.hunks.iter().enumerate() {
            if index > 0 {
                out.push(DiffLine::Gap);
            }
            out.extend(hunk.iter().map(|line| match line.tag {
                LineTag::Equal => DiffLine::Same(line.text.clone()),
                LineTag::Insert => DiffLine::Added(line.text.clone()),
                LineTag::Delete => DiffLine::Removed(line.text.clone()),
            }));
        }
    }
    out
}

static SAMPLES: include_dir::Dir<'_> = include_dir::include_dir!("$CARGO_MANIFEST_DIR/sample-runs");

/// Puts the sample runs beside the workspace's runs and gives the first.
pub(super) fn sample(workspace: &Workspace) -> Data {
    let folder = workspace.runs_dir();
    let fail = |error: std::io::Error| {
        Data::Failed(format!(
            "the sample could not be put into {}: {error}",
            folder.display()
        ))
    };
    if let Err(error) = std::fs::create_dir_all(&folder) {
        return fail(error);
    }
    let mut first = None;
    for file in SAMPLES
        .files()
        .filter(|file| file.path().extension().is_some_and(|end| end == "db"))
    {
        let path = folder.join(format!("sample-{}", file.path().display()));
        // A name in the folder is a whole file: written beside it first, then moved.
        let part = path.with_extension("part");
        if !path.exists()
            && let Err(error) = std::fs::write(&part, file.contents()).and_then(|()| std::fs::rename(&part, &path))
        {
            return fail(error);
        }
        first.get_or_insert(path);
    }
    match first {
        Some(path) => Data::Show(path),
        None => Data::Failed("this build has no sample run; watch the scripted player instead".to_owned()),
    }
}
