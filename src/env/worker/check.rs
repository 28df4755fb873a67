//! Whether a worker keeps to the contract: named checks that anyone can run on their own.
//!
//! Owns the list of checks. They talk over bare connections, because [`super::WorkerWorld`] forgives more than a worker
//! may count on.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::connection::{Connection, Fault, Limits};
use super::messages::{FailureKind, PROTOCOL, Reply, Request, Shown};
use crate::types::{Action, WorldSpec};

/// Actions that are tried one by one.
const MOST_ACTIONS: usize = 300;
/// Steps and time in which an episode of random actions may end, so that its end can be checked.
const MOST_STEPS: usize = 20_000;
const LONGEST: Duration = Duration::from_secs(10);
/// Steps before and after an action that is none.
const AROUND: usize = 5;
/// Time in which nothing may come unasked.
const QUIET: Duration = Duration::from_millis(100);
/// An action that no world has.
const NO_ACTION: &str = "no such action (automem env check)";

/// How a worker is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOptions {
    /// What the worker may take.
    pub limits: Limits,
    /// Steps of an episode that is played in two processes.
    pub steps: usize,
    /// Its seed.
    pub seed: u64,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            steps: 200,
            seed: 42,
        }
    }
}

/// What the checks found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// What the worker says it plays, where it greets.
    pub world: Option<WorldSpec>,
    /// In the order in which they ran.
    pub checks: Vec<Check>,
}

impl CheckReport {
    /// None failed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.outcome != Outcome::Failed)
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What a worker must do.
    pub name: &'static str,
    /// Whether it does.
    pub outcome: Outcome,
    /// What was seen, or why it failed.
    pub told: String,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As it must be.
    Passed,
    /// Not as it must be.
    Failed,
    /// It could not be tried.
    Skipped,
}

/// What a check finds: what was seen (`Err` in the good part: why it could not be tried), or what is wrong.
type Found = Result<Result<String, String>, String>;

/// Tries one thing.
type Try = fn(&mut Bench<'_>) -> Found;

/// The checks, in order; each has a worker of its own.
const CHECKS: &[(&str, Try)] = &[
    ("greets alike in every process", greets_alike),
    ("refuses a step before the first reset", refuses_an_early_step),
    ("equal seeds give equal beginnings", resets_alike),
    ("every action can be played", plays_every_action),
    (
        "refuses an action it does not have, and goes on",
        refuses_unknown_actions,
    ),
    (
        "answers what is no request with an error, and goes on",
        survives_bad_lines,
    ),
    ("says nothing unasked", is_quiet),
    (
        "equal seeds and actions give equal episodes in two processes",
        is_deterministic,
    ),
    ("refuses a step after the end, and begins again", ends),
    ("ends when told", closes),
    ("ends with its input", ends_with_its_input),
];

/// Checks a worker by its command, whose first word is the program.
pub fn check(command: impl IntoIterator<Item = impl Into<OsString>>, options: CheckOptions) -> CheckReport {
    let command: Vec<OsString> = command.into_iter().map(Into::into).collect();
    check_over(&mut || Connection::start(&command, options.limits.line_bytes), options)
}

/// The same over any connections.
pub(super) fn check_over(connect: &mut dyn FnMut() -> Result<Connection, Fault>, options: CheckOptions) -> CheckReport {
    let began = Instant::now();
    let (spec, greeting) = match connect().map_err(|fault| fault.to_string()).and_then(|mut connection| {
        let spec = greeting(&mut connection, options.limits)?;
        connection.close(options.limits.close);
        Ok(spec)
    }) {
        Ok(spec) => {
            let told = format!(
                "{} {}, {} actions, after {} ms",
                spec.name,
                spec.task,
                spec.actions.len(),
                began.elapsed().as_millis()
            );
            (Some(spec), Ok(Ok(told)))
        }
        Err(problem) => (None, Err(problem)),
    };
    let mut checks = vec![Check::of("greets", greeting)];
    for (name, run) in CHECKS {
        let found = match &spec {
            Some(spec) => run(&mut Bench { connect, options, spec }),
            None => Ok(Err("it does not greet".to_owned())),
        };
        checks.push(Check::of(name, found));
    }
    CheckReport { world: spec, checks }
}

impl Check {
    fn of(name: &'static str, found: Found) -> Self {
        let (outcome, told) = match found {
            Ok(Ok(told)) => (Outcome::Passed, told),
            Ok(Err(why)) => (Outcome::Skipped, why),
            Err(problem) => (Outcome::Failed, problem),
        };
        Self { name, outcome, told }
    }
}

fn greeting(connection: &mut Connection, limits: Limits) -> Result<WorldSpec, String> {
    match connection.ask(&Request::Hello { protocol: PROTOCOL }, limits.hello) {
        Ok(Reply::Hello(spec)) => Ok(*spec),
        Ok(Reply::Failed { message, .. }) => Err(message),
        Ok(Reply::Shown(_)) => Err("it shows a frame where it should greet".to_owned()),
        Err(fault) => Err(fault.to_string()),
    }
}

/// Where checks are made.
struct Bench<'a> {
    connect: &'a mut dyn FnMut() -> Result<Connection, Fault>,
    options: CheckOptions,
    spec: &'a WorldSpec,
}

impl Bench<'_> {
    /// A new worker that has greeted.
    fn worker(&mut self) -> Result<Worker, String> {
        let mut connection = (self.connect)().map_err(|fault| fault.to_string())?;
        let limits = self.options.limits;
        let spec = greeting(&mut connection, limits)?;
        if spec != *self.spec {
            return Err("it greets as another world than the first time".to_owned());
        }
        Ok(Worker { connection, limits })
    }

    /// A varied but fixed choice of actions.
    fn actions(&self, count: usize) -> Vec<Action> {
        let all = &self.spec.actions;
        let mut state = 9_u64;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                all[(state >> 33) as usize % all.len()].clone()
            })
            .collect()
    }

    /// The frames of the fixed episode, in a new worker, which is handed back; they end where it ends.
    fn episode(&mut self, steps: usize) -> Result<(Vec<Shown>, Worker), String> {
        self.episode_within(steps, Duration::MAX)
    }

    /// The same, cut off where it takes too long.
    fn episode_within(&mut self, steps: usize, limit: Duration) -> Result<(Vec<Shown>, Worker), String> {
        let began = Instant::now();
        let mut worker = self.worker()?;
        let mut frames = vec![worker.reset(self.options.seed)?];
        for action in self.actions(steps) {
            if frames.last().is_some_and(over) || began.elapsed() > limit {
                break;
            }
            frames.push(worker.step(&action)?);
        }
        Ok((frames, worker))
    }
}

struct Worker {
    connection: Connection,
    limits: Limits,
}

/// What a worker refuses with.
type Refusal = (FailureKind, String);

impl Worker {
    fn reset(&mut self, seed: u64) -> Result<Shown, String> {
        let reply = self.connection.ask(&Request::Reset { seed }, self.limits.reset);
        taken(reply)?.map_err(|(kind, why)| format!("it refused to reset: {}: {why}", kind.name()))
    }

    fn step(&mut self, action: &Action) -> Result<Shown, String> {
        self.try_step(action.as_str())?
            .map_err(|(kind, why)| format!("it refused `{action}`: {}: {why}", kind.name()))
    }

    fn try_step(&mut self, action: &str) -> Result<Result<Shown, Refusal>, String> {
        let action = action.to_owned();
        taken(self.connection.ask(&Request::Step { action }, self.limits.step))
    }

    /// A step that must be refused, with this kind.
    fn refused(&mut self, action: &str, must: FailureKind) -> Result<(), String> {
        match self.try_step(action)? {
            Ok(_) => Err(format!("it showed a frame; `{}` is the answer", must.name())),
            Err((kind, why)) if kind != must => Err(format!(
                "it refused with `{}` ({why}); `{}` is the answer",
                kind.name(),
                must.name()
            )),
            Err(_) => Ok(()),
        }
    }
}

fn taken(reply: Result<Reply, Fault>) -> Result<Result<Shown, Refusal>, String> {
    match reply {
        Ok(Reply::Shown(shown)) => Ok(Ok(*shown)),
        Ok(Reply::Failed { kind, message }) => Ok(Err((kind, message))),
        Ok(Reply::Hello(_)) => Err("it greets where it should show a frame".to_owned()),
        Err(fault) => Err(fault.to_string()),
    }
}

fn over(shown: &Shown) -> bool {
    shown.frame.terminated || shown.frame.truncated
}

/// Says in what two frames differ; `info` may hold what differs between equal episodes, such as times.
fn same(one: &Shown, other: &Shown, at: &str) -> Result<(), String> {
    let (a, b) = (&one.frame, &other.frame);
    let differing: Vec<&str> = [
        ("long", a.long != b.long),
        ("short", a.short != b.short),
        ("view", a.view != b.view),
        ("reward", a.reward != b.reward),
        ("terminated", a.terminated != b.terminated),
        ("truncated", a.truncated != b.truncated),
        ("progression", a.progression != b.progression),
        ("digest", one.has_digest != other.has_digest || a.digest != b.digest),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(format!("{at} differs in {}", differing.join(", ")))
}

fn seen(text: impl Into<String>) -> Found {
    Ok(Ok(text.into()))
}

fn greets_alike(bench: &mut Bench<'_>) -> Found {
    bench.worker()?;
    seen("")
}

fn refuses_an_early_step(bench: &mut Bench<'_>) -> Found {
    let fallback = bench.spec.fallback.clone();
    let seed = bench.options.seed;
    let mut worker = bench.worker()?;
    worker.refused(fallback.as_str(), FailureKind::NotReset)?;
    worker.reset(seed)?;
    seen("")
}

fn resets_alike(bench: &mut Bench<'_>) -> Found {
    let seed = bench.options.seed;
    let mut worker = bench.worker()?;
    let first = worker.reset(seed)?;
    if over(&first) || first.frame.reward != 0.0 {
        return Err("its first frame has a reward, or is the end".to_owned());
    }
    let other = worker.reset(seed.wrapping_add(1))?;
    same(&first, &worker.reset(seed)?, "the first frame of the same seed")?;
    seen(if other.frame == first.frame {
        "another seed begins alike"
    } else {
        "another seed begins otherwise"
    })
}

fn plays_every_action(bench: &mut Bench<'_>) -> Found {
    let (actions, seed) = (bench.spec.actions.clone(), bench.options.seed);
    let mut worker = bench.worker()?;
    worker.reset(seed)?;
    let tried = actions.len().min(MOST_ACTIONS);
    for action in &actions[..tried] {
        if over(&worker.step(action)?) {
            worker.reset(seed)?;
        }
    }
    seen(format!("{tried} of {}", actions.len()))
}

fn refuses_unknown_actions(bench: &mut Bench<'_>) -> Found {
    let (plain, _) = bench.episode(2 * AROUND)?;
    let (mut frames, mut worker) = bench.episode(AROUND.min(plain.len().saturating_sub(2)))?;
    worker.refused(NO_ACTION, FailureKind::UnknownAction)?;
    for action in bench.actions(2 * AROUND).iter().skip(frames.len() - 1) {
        if frames.last().is_some_and(over) {
            break;
        }
        frames.push(worker.step(action)?);
    }
    for (n, (one, other)) in plain.iter().zip(&frames).enumerate() {
        same(one, other, &format!("step {n} of an episode with a refused action"))?;
    }
    seen("")
}

fn survives_bad_lines(bench: &mut Bench<'_>) -> Found {
    let seed = bench.options.seed;
    let mut worker = bench.worker()?;
    for line in ["{", "[1,2]", r#"{"do":"no such request"}"#, r#"{"do":"reset"}"#] {
        let limit = worker.limits.step;
        let reply = worker
            .connection
            .ask_line(line.as_bytes().to_vec(), limit)
            .map_err(|fault| format!("after the line `{line}`: {fault}"))?;
        match Reply::read(&reply) {
            Ok(Reply::Failed {
                kind: FailureKind::Protocol,
                ..
            }) => {}
            Ok(_) => {
                return Err(format!(
                    "the line `{line}` must be answered with an error of kind `protocol`"
                ));
            }
            Err(problem) => return Err(worker.connection.unreadable(problem, &reply).to_string()),
        }
    }
    worker.reset(seed)?;
    seen("")
}

fn is_quiet(bench: &mut Bench<'_>) -> Found {
    let (_, mut worker) = bench.episode(AROUND)?;
    std::thread::sleep(QUIET);
    worker.connection.nothing_unasked().map_err(|fault| fault.to_string())?;
    seen("")
}

fn is_deterministic(bench: &mut Bench<'_>) -> Found {
    let steps = bench.options.steps;
    let began = Instant::now();
    let (one, worker) = bench.episode(steps)?;
    drop(worker);
    let took = began.elapsed();
    let (other, _) = bench.episode(steps)?;
    for (n, (one, other)) in one.iter().zip(&other).enumerate() {
        same(one, other, &format!("step {n} in another process"))?;
    }
    if one.len() != other.len() {
        return Err("it ends at another step in another process".to_owned());
    }
    let played = one.len() - 1;
    seen(format!("{played} steps in {} ms with the start", took.as_millis()))
}

fn ends(bench: &mut Bench<'_>) -> Found {
    let (frames, mut worker) = bench.episode_within(MOST_STEPS, LONGEST)?;
    if !frames.last().is_some_and(over) {
        return Ok(Err(format!(
            "the episode did not end within {} steps",
            frames.len() - 1
        )));
    }
    let fallback = bench.spec.fallback.clone();
    worker.refused(fallback.as_str(), FailureKind::NotReset)?;
    let again = worker.reset(bench.options.seed)?;
    if let Some(first) = frames.first() {
        same(first, &again, "the first frame after an end")?;
    }
    seen(format!("it ended at step {}", frames.len() - 1))
}

fn closes(bench: &mut Bench<'_>) -> Found {
    let (_, mut worker) = bench.episode(AROUND)?;
    let began = Instant::now();
    if !worker.connection.close(worker.limits.close) {
        return Err(format!(
            "it did not end within {} ms after `close`",
            worker.limits.close.as_millis()
        ));
    }
    seen(format!("after {} ms", began.elapsed().as_millis()))
}

fn ends_with_its_input(bench: &mut Bench<'_>) -> Found {
    let (_, mut worker) = bench.episode(AROUND)?;
    if !worker.connection.hang_up(worker.limits.close) {
        return Err(format!(
            "it did not end within {} ms after its input did",
            worker.limits.close.as_millis()
        ));
    }
    seen("")
}
