//! Jobs of the edge, each on a thread of its own: list runs, search, start a run, fetch a model,
//! compare scaffolds. They report as events and never touch the screen.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::data::{
    Data, DiffLine, Event, FilterNews, Here, Place, RunEntry, RunState, ScaffoldDiff, SearchNews, StartRequest,
    ThemeRequest,
};
use super::filter::{self, Filter};
use super::pace::paced;
use super::playing::Playing;
use super::theme::{ThemeError, Themes};
use crate::agent::{self, RunPlan};
use crate::config::{Settings, Workspace};
use crate::env;
use crate::jobs::Cancel;
use crate::llm::{ModelOptions, catalog, pull};
use crate::review::Desk;
use crate::scaffold::{self, LineTag, Scaffold};
use crate::store::{Leftover, Reader, Registry, StoreError, Trash};
use crate::types::{Sampling, ScaffoldRef, Seeds, StepNo};

/// How long a run that ended may take to be closed.
const CLOSING: Duration = Duration::from_secs(4);
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

/// All runs of the workspace, and what runs can be started with.
pub(super) fn list(workspace: &Workspace) -> Data {
    let scaffolds = Scaffold::list(workspace).into_iter().filter_map(|known| {
        let scaffold = Scaffold::named(&known.name, workspace).ok()?;
        Some((known.name, scaffold.manifest().env.clone()))
    });
    let here = Here {
        models: catalog::names(&workspace.models_dir()),
        adapters: catalog::names(&workspace.adapters_dir()),
        worlds: env::choices(),
        scaffolds: scaffolds.collect(),
        last: last_start(workspace),
    };
    let folder = std::path::absolute(workspace.runs_dir()).unwrap_or_else(|_| workspace.runs_dir());
    let listed = Registry::open(workspace).and_then(|registry| registry.runs());
    match listed {
        Ok(runs) => Data::Runs {
            entries: runs.into_iter().map(|run| entry(run, &folder)).collect(),
            here,
        },
        Err(error) => Data::Failed(error.to_string()),
    }
}

fn entry(run: crate::store::ListedRun, folder: &Path) -> RunEntry {
    let elsewhere = run.path.parent() != Some(folder);
    match run.content {
        Ok(content) => RunEntry {
            model: content.meta.players(),
            path: run.path,
            created: content.meta.created,
            world: content.meta.world.name,
            scaffold: content.meta.scaffold.name,
            is_llm: content.meta.model.is_llm,
            episodes: content.episodes,
            planned: content.meta.seeds.len(),
            elsewhere,
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
            planned: 0,
            elsewhere,
            max_steps: 0,
            state: RunState::Broken(error.to_string()),
        },
    }
}

/// Reads a theme: the one that is named, the one that shows if its files changed, else the next.
pub(super) fn theme(themes: &Themes, request: &ThemeRequest) -> Data {
    let names = themes.names();
    let (shows, digest) = &request.shows;
    let loaded = match &request.key {
        Some(key) => themes.load(key, request.depth).map(|theme| (theme, false)),
        None => match themes.load(shows, request.depth) {
            Ok(theme) if theme.digest() != *digest => Ok((theme, true)),
            // What cannot be read any more is left, unless its file is there to be mended.
            Ok(_) | Err(ThemeError::Unknown { .. } | ThemeError::Unreadable { .. }) => {
                let at = names.iter().position(|name| name == shows);
                let next = at.map_or(0, |at| (at + 1) % names.len());
                themes.load(&names[next], request.depth).map(|theme| (theme, false))
            }
            Err(error) => Err(error),
        },
    };
    match loaded {
        Ok((theme, reloaded)) => Data::Theme {
            theme: Box::new(theme),
            names,
            reloaded,
        },
        Err(error) => Data::Failed(format!("the theme stays {shows}: {error}")),
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

/// Starts a run in the workspace, and remembers how.
///
/// # Errors
/// Cause and next step, in words.
pub(super) fn start(workspace: &Workspace, settings: &Settings, request: &StartRequest) -> anyhow::Result<Playing> {
    let seeds: Seeds = request.seeds.parse().map_err(anyhow::Error::msg)?;
    let scaffold = Scaffold::named(&request.scaffold, workspace)?;
    let options = ModelOptions {
        slots: Some(request.workers.saturating_mul(2)),
        ..ModelOptions::of(workspace, settings)
    };
    let specialist = request.specialist.as_deref();
    let (model, specialist) = agent::open_models(&request.model, specialist, &request.world, &options)?;
    let (model, pace) = paced(model, settings.scripted.step_ms);
    let plan = RunPlan {
        world: request.world.clone(),
        out: fresh_name(workspace, &scaffold.manifest().name),
        scaffold,
        model,
        specialist,
        seeds: seeds.0,
        max_steps: request.max_steps,
        workers: request.workers,
        sampling: Sampling::default(),
        exact: false,
    };
    let handle = agent::start(plan)?;
    // A run that plays is worth more than what the dialog would show next time.
    if let Ok(text) = serde_json::to_vec_pretty(request) {
        let _ = std::fs::write(last_start_file(workspace), text);
    }
    Ok((handle, pace))
}

fn last_start_file(workspace: &Workspace) -> PathBuf {
    workspace.root().join("last-start.json")
}

/// What was started last; `None` when nobody knows, which is no fault.
fn last_start(workspace: &Workspace) -> Option<StartRequest> {
    serde_json::from_slice(&std::fs::read(last_start_file(workspace)).ok()?).ok()
}

/// Goes on with a run that was interrupted.
///
/// # Errors
/// Cause and next step, in words.
pub(super) fn resume(workspace: &Workspace, settings: &Settings, path: &Path) -> anyhow::Result<Playing> {
    let meta = Reader::open(path)?.meta().clone();
    let spec = agent::spec_of(&meta.model).ok_or_else(|| {
        anyhow::anyhow!(
            "the run was played by `{}` ({}), which is not found by its name; `automem resume {} --model` takes it",
            meta.model.name,
            meta.model.backend,
            path.display()
        )
    })?;
    let options = ModelOptions {
        slots: Some(meta.workers.saturating_mul(2)),
        exact: meta.exact,
        ..ModelOptions::of(workspace, settings)
    };
    let model = agent::open_model(&spec, &meta.world.name, &options)?;
    let specialist = agent::open_recorded_specialist(path, &model, None, &options)?;
    let (model, pace) = paced(model, settings.scripted.step_ms);
    Ok((agent::resume(path, model, specialist)?, pace))
}

/// Puts a run into the trash. One whose file is gone already is only taken off the list.
pub(super) fn delete(workspace: &Workspace, trash: &mut Trash, path: PathBuf) -> Data {
    let memory = agent::memory_folder(&path);
    let began = Instant::now();
    let put = loop {
        match trash.put(&path, std::slice::from_ref(&memory)) {
            // A run that has just ended is still being closed.
            Err(StoreError::Busy { .. }) if began.elapsed() < CLOSING => std::thread::sleep(REPORT),
            other => break other,
        }
    };
    match put {
        Ok(()) => Data::Deleted {
            path,
            deleted: trash.len(),
        },
        Err(StoreError::NotFound { .. }) => forget(workspace, &path),
        Err(error) => Data::Failed(error.to_string()),
    }
}

/// Takes a run off the list; its file stays.
pub(super) fn forget(workspace: &Workspace, path: &Path) -> Data {
    let forgotten = Registry::open(workspace).and_then(|registry| registry.forget(path));
    match forgotten {
        Ok(()) => Data::Forgotten(path.to_owned()),
        Err(error) => Data::Failed(error.to_string()),
    }
}

/// Brings the run back that was deleted last.
pub(super) fn undo(trash: &mut Trash) -> Data {
    match trash.undo() {
        Ok(Some(path)) => Data::Restored {
            path,
            deleted: trash.len(),
        },
        Ok(None) => Data::Note("nothing was deleted".to_owned()),
        Err(error) => Data::Failed(error.to_string()),
    }
}

/// Brings back, or removes for good, what a session that broke off left behind.
pub(super) fn leftovers(found: Vec<Leftover>, restore: bool) -> Data {
    let count = found.len();
    for item in found {
        let done = if restore { item.restore() } else { item.remove() };
        if let Err(error) = done {
            return Data::Failed(error.to_string());
        }
    }
    Data::LeftoversDone(if restore {
        format!("{count} deleted runs are back")
    } else {
        format!("{count} deleted runs are removed for good")
    })
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
    others.extend(pending(workspace, ours));
    let Some(name) = against.or_else(|| others.first().cloned()) else {
        return Data::Note("there is no other scaffold to compare with".to_owned());
    };
    if let Some(id) = name.strip_prefix(PENDING) {
        let dossier = Desk::open(workspace).and_then(|desk| desk.dossier(&id.into()));
        return match dossier {
            // From what is in use to what would come.
            Ok(dossier) => Data::Diff(Box::new(ScaffoldDiff {
                lines: lines(&scaffold::diff(
                    &ours.files,
                    &dossier.files().map(|files| files.files.clone()).unwrap_or_default(),
                )),
                against: name,
                others,
            })),
            Err(error) => Data::Failed(error.to_string()),
        };
    }
    match Scaffold::files_named(&name, workspace) {
        Ok(files) => Data::Diff(Box::new(ScaffoldDiff {
            lines: lines(&scaffold::diff(&files, &ours.files)),
            against: name,
            others,
        })),
        Err(error) => Data::Failed(error.to_string()),
    }
}

/// Before the name of a revision that waits for a decision.
pub(super) const PENDING: &str = "pending ";

/// The revisions of a scaffold that wait for a decision, by what they are compared as.
fn pending(workspace: &Workspace, ours: &ScaffoldRef) -> Vec<String> {
    // Without a database nothing was ever proposed.
    if !workspace.database().is_file() {
        return Vec::new();
    }
    // One that cannot be read says so on its own screen.
    let all = Desk::open(workspace).and_then(|desk| desk.list()).unwrap_or_default();
    let mut names: Vec<String> = all
        .iter()
        .filter(|standing| standing.waits() && standing.parent_digest == ours.digest)
        .map(|standing| format!("{PENDING}{}", standing.id))
        .collect();
    // The oldest first, as they wait.
    names.reverse();
    names
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

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(workspace: &Workspace) -> usize {
        match list(workspace) {
            Data::Runs { entries, .. } => entries.len(),
            other => panic!("{other:?}"),
        }
    }

    fn wait(playing: Playing) -> PathBuf {
        let run = playing.0.run.clone();
        playing.0.wait().unwrap();
        run
    }

    fn request(seeds: &str) -> StartRequest {
        StartRequest {
            world: "crafter".into(),
            scaffold: "crafter-v0".into(),
            model: "scripted".into(),
            specialist: None,
            seeds: seeds.into(),
            max_steps: 1,
            workers: 2,
            show: false,
        }
    }

    #[test]
    fn a_start_is_remembered_and_one_that_fails_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        let mut settings = Settings::default();
        settings.scripted.step_ms = 0;
        let run = wait(start(&workspace, &settings, &request("3,4")).unwrap());
        assert_eq!(Reader::open(&run).unwrap().episodes().unwrap().len(), 2);
        assert_eq!(last_start(&workspace), Some(request("3,4")));
        let wrong = StartRequest {
            model: "nobody".into(),
            ..request("5")
        };
        let error = start(&workspace, &settings, &wrong).err().unwrap();
        assert!(error.to_string().contains("nobody"), "{error}");
        assert_eq!(last_start(&workspace), Some(request("3,4")));
        std::fs::write(last_start_file(&workspace), "no json").unwrap();
        assert_eq!(last_start(&workspace), None);
    }

    #[test]
    fn a_run_whose_file_is_gone_is_taken_off_the_list() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        let mut settings = Settings::default();
        settings.scripted.step_ms = 0;
        let run = wait(start(&workspace, &settings, &request("3")).unwrap());
        Registry::open(&workspace).unwrap().register(&run).unwrap();
        std::fs::remove_file(&run).unwrap();
        assert_eq!(listed(&workspace), 1);
        let mut trash = Trash::new(&workspace);
        assert!(matches!(delete(&workspace, &mut trash, run), Data::Forgotten(_)));
        assert_eq!(listed(&workspace), 0);
    }

    #[test]
    fn a_revision_that_waits_is_among_what_a_scaffold_is_compared_with() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        let base = Scaffold::files_named("crafter-v0", &workspace).unwrap();
        let ours = ScaffoldRef {
            name: "crafter-v0".into(),
            version: "0.1.0".into(),
            parent: None,
            digest: scaffold::digest_of(&base),
            files: base.clone(),
        };
        let others = |data| match data {
            Data::Diff(diff) => *diff,
            other => panic!("{other:?}"),
        };
        let before = others(diff(&workspace, &ours, None));
        assert!(!workspace.database().exists() && !before.others.iter().any(|name| name.starts_with(PENDING)));
        let mut files = base.clone();
        files.insert("METHOD.md".into(), "# mine\n".into());
        let draft = crate::review::Draft {
            author: "rules".into(),
            title: "t".into(),
            rationale: String::new(),
            evidence: Vec::new(),
            usage: crate::llm::Usage::default(),
            origin: None,
            content: crate::review::Content::Revision(Box::new(crate::review::RevisionContent {
                line: "mine".into(),
                parent: "crafter-v0".into(),
                parent_digest: ours.digest,
                base,
                files,
            })),
        };
        let id = Desk::open(&workspace).unwrap().propose(draft, "rules").unwrap();
        let found = others(diff(&workspace, &ours, None)).others;
        let name = format!("{PENDING}{id}");
        assert_eq!(found.last(), Some(&name));
        let shown = others(diff(&workspace, &ours, Some(name)));
        assert!(
            shown.lines.contains(&DiffLine::Added("# mine".into())),
            "{:?}",
            shown.lines
        );
        // Another scaffold has nothing to do with it.
        let other = ScaffoldRef {
            digest: crate::types::Digest::of("x"),
            ..ours
        };
        assert!(
            !others(diff(&workspace, &other, None))
                .others
                .iter()
                .any(|name| name.starts_with(PENDING))
        );
    }
}
