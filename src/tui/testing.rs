//! Fixtures of the screen's tests: a small run made up here, the same every time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::data::{MemoryView, Opened, RunEntry, RunState, Timeline};
use super::keymap::Screen;
use super::state::State;
use super::theme::{Depth, Theme};
use super::watch::Watch;
use crate::protocol::OpSyntax;
use crate::store::{FileState, Marks, StepMark};
use crate::types::{
    Action, ActionBy, AgentName, At, Author, Body, Digest, EndReason, EpisodeNo, EpisodeState, EpisodeSummary, Event,
    Frame, GridView, MemoryChange, MemoryFiles, MemoryOp, ModelRef, OpOutcome, OpStatus, Phase, Rect, Role, RunId,
    RunMeta, Sampling, ScaffoldRef, StepNo, StepRecord, StopReason, TileView, Turn, TurnNo, View, WorldSpec,
};

/// The dark theme in full colour.
pub(crate) fn theme() -> Theme {
    Theme::load("dark", Depth::True).unwrap()
}

/// The nine operations.
pub(crate) fn vocabulary() -> Vec<OpSyntax> {
    crate::memory::ops().iter().map(|op| op.syntax).collect()
}

/// A frame: meadow, a lake, some trees; the player walks east.
pub(crate) fn frame(step: u32) -> Frame {
    let (px, py) = (28 + (step % 9) as i32, 32);
    let mut cells = vec![2u8; 64 * 64];
    for y in 0..64i32 {
        for x in 0..64i32 {
            let id = match (x * 7 + y * 13 + x * y) % 23 {
                0 | 1 => 6,
                2 if x > 30 => 3,
                _ if (x - 26).pow(2) + (y - 35).pow(2) < 9 => 1,
                _ if x > 36 => [3, 3, 8, 4, 9][((x + y) % 5) as usize],
                _ => 2,
            };
            cells[(y * 64 + x) as usize] = id;
        }
    }
    cells[(30 * 64 + 31) as usize] = 14;
    cells[(33 * 64 + 35) as usize] = 15;
    cells[(py * 64 + px) as usize] = 13;
    Frame {
        long: "You see:\n- grass 1 step to your west\n- tree 2 steps to your north-east\n- water 4 steps to your south-west\n\nYou face tree at your front.".into(),
        short: format!(
            "Your status:\n- health: 9/9\n- food: {}/9\n- drink: 6/9\n- energy: 8/9\n\nYour inventory:\n- wood: 2\n- wood_pickaxe: 1",
            9 - step % 7
        ),
        view: View::Tiles(TileView {
            set: "crafter".into(),
            width: 64,
            height: 64,
            cells,
            window: Rect { x: px - 4, y: py - 3, w: 9, h: 7 },
            player: (px, py),
            facing: (1, 0),
            light: 1.0,
            asleep: false,
        }),
        reward: 0.0,
        terminated: false,
        truncated: false,
        progression: f64::from(step / 5) / 22.0,
        info: json!({
            "health": 9, "food": 9 - step % 7, "drink": 6, "energy": 8,
            "inventory": {"wood": 2, "sapling": 0, "wood_pickaxe": 1},
            "achievements": {
                "collect_coal": 0, "collect_diamond": 0, "collect_drink": 3, "collect_iron": 0, "collect_sapling": 1,
                "collect_stone": 0, "collect_wood": 4, "defeat_skeleton": 0, "defeat_zombie": 0, "eat_cow": 0,
                "eat_plant": 0, "make_iron_pickaxe": 0, "make_iron_sword": 0, "make_stone_pickaxe": 0,
                "make_stone_sword": 0, "make_wood_pickaxe": 1, "make_wood_sword": 0, "place_furnace": 0,
                "place_plant": 0, "place_stone": 0, "place_table": 1, "wake_up": 0
            }
        }),
        digest: Digest::of(step.to_le_bytes()),
    }
}

/// A dungeon's screen, 80 by 24, that an explorer moves over.
pub(crate) fn screen(step: u32) -> GridView {
    let mut rows = vec![" ".repeat(80); 24];
    let mut colours = vec![".".repeat(80); 24];
    rows[0] = format!("{:<80}", "You see here a scroll labeled KIRJE.");
    let column = 44 + step as usize % 8;
    for (row, room) in ["---------", "|$..d...+", "|........", "|.......|", "---------"]
        .into_iter()
        .enumerate()
    {
        rows[15 + row].replace_range(42..51, room);
        colours[15 + row].replace_range(42..51, "777777777");
    }
    rows[17].replace_range(column..=column, "@");
    colours[17].replace_range(column..=column, "f");
    colours[16].replace_range(43..44, "b");
    colours[16].replace_range(46..47, "f");
    colours[16].replace_range(50..51, "3");
    rows[22] = format!(
        "{:<80}",
        "Agent the Plunderess           St:18/03 Dx:16 Co:16 In:7 Wi:8 Ch:6 Neutral S:0"
    );
    rows[23] = format!("{:<80}", "Dlvl:1 $:0 HP:5(16) Pw:2(2) AC:7 Xp:1/0 T:12");
    GridView {
        width: 80,
        rows,
        colours,
        cursor: Some((column as u16, 17)),
    }
}

/// A frame of a dungeon.
pub(crate) fn dungeon(step: u32) -> Frame {
    Frame {
        long: "message:\nYou see here a scroll labeled KIRJE.\n\nlanguage observation:\ndoorway near west\n\ncursor:\nYourself a barbarian".into(),
        short: "inventory:\na: a +0 two-handed sword (weapon in hands)\n".into(),
        view: View::Grid(screen(step)),
        info: json!({
            "position": [44 + step % 8, 16], "hp": 5, "max_hp": 16, "energy": 2, "max_energy": 2, "ac": 7, "dlvl": 1,
            "xp_level": 1, "gold": 0, "turn": 12 + step, "hunger": "Not Hungry", "role": "Barbarian",
        }),
        ..frame(step)
    }
}

/// A turn.
pub(crate) fn turn(phase: Phase, step: u32, response: &str) -> Turn {
    Turn {
        phase,
        turn: TurnNo(0),
        role: Role::Agent,
        model: "smollm2-135m".into(),
        prompt: format!(
            "<|im_start|>system\nYou play Crafter and keep notes.<|im_end|>\n<|im_start|>user\nStep {step}. You see:\n- grass 1 step to your west\nWrite what you want to remember.<|im_end|>\n<|im_start|>assistant\n"
        ),
        spans: Vec::new(),
        response: response.to_owned(),
        tool_results: "[APPEND notes/map.txt] ok".into(),
        prompt_tokens: 940,
        cached_tokens: 318,
        completion_tokens: 32,
        prompt_ms: 1200.0,
        ms: 1980.0,
        sampling: Sampling::default(),
        grammar: true,
        stop: StopReason::End,
    }
}

fn op(phase: Phase, name: &str, args: &[&str], text: &str, changes: Vec<MemoryChange>) -> Body {
    Body::MemoryOp {
        op: Box::new(MemoryOp {
            phase,
            turn: TurnNo(0),
            op: name.into(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            by: Author::Model,
            outcome: OpOutcome {
                status: OpStatus::Ok,
                text: text.into(),
                cut: 0,
            },
            changes,
        }),
    }
}

/// The text of the map file after a step's LOG.
fn map_text(step: u32) -> String {
    (1..=step)
        .map(|step| format!("{step}: went east, saw a tree at 12,{step}\n"))
        .collect()
}

/// The events of a step.
pub(crate) fn events(step: u32) -> Vec<Body> {
    let mut events = vec![Body::Observed {
        frame: Arc::new(frame(step)),
    }];
    if step > 0 {
        let line = format!("{step}: went east, saw a tree at 12,{step}");
        let answer = format!("I note the tree. <|APPEND|>notes/map.txt|{line}<|END|>\n<|DONE|>");
        events.push(Body::TurnFinished {
            turn: Box::new(turn(Phase::Log, step, &answer)),
        });
        let before = (step > 1).then(|| map_text(step - 1));
        let change = MemoryChange::between("notes/map.txt", before.as_deref(), Some(&map_text(step))).unwrap();
        events.push(op(Phase::Log, "APPEND", &["notes/map.txt", &line], "ok", vec![change]));
    }
    let answer = "<|READ|>goals.txt<|END|>\n<|ACTION|>Move East<|END|>";
    events.push(Body::TurnFinished {
        turn: Box::new(turn(Phase::Plan, step, answer)),
    });
    events.push(op(
        Phase::Plan,
        "READ",
        &["goals.txt"],
        "find wood\nfind water",
        Vec::new(),
    ));
    events.push(Body::ActionCommitted {
        raw: "Move East".into(),
        validated: "Move East".into(),
        repaired: false,
        by: ActionBy::Model,
    });
    events.push(Body::StepFinished {
        reward: if step % 5 == 3 { 1.0 } else { 0.0 },
        terminated: false,
        truncated: false,
        progression: f64::from(step / 5) / 22.0,
        state_patch: None,
        ms: 3100.0,
    });
    events
}

/// A step.
pub(crate) fn record(step: u32) -> StepRecord {
    let mut record = StepRecord::new(StepNo(step));
    events(step).into_iter().for_each(|body| record.push(body));
    record
}

/// The memory files an episode begins with.
fn inherited() -> MemoryFiles {
    MemoryFiles::from([("goals.txt".to_owned(), "find wood\nfind water\n".into())])
}

/// All events of an episode.
pub(crate) fn episode_events(steps: u32) -> Vec<Event> {
    let at = |step: u32| At {
        episode: EpisodeNo(0),
        step: StepNo(step),
        agent: AgentName::from("agent"),
        memory_root: "ep_00".into(),
    };
    let mut out = vec![Event {
        at: at(0),
        body: Body::EpisodeStarted {
            seed: 42,
            inherited: inherited(),
        },
    }];
    for step in 0..steps {
        out.extend(events(step).into_iter().map(|body| Event { at: at(step), body }));
    }
    let frame = Arc::new(frame(steps));
    out.push(Event {
        at: at(steps),
        body: Body::Observed { frame },
    });
    let end = EndReason::StepLimit;
    out.push(Event {
        at: at(steps),
        body: Body::EpisodeFinished { end },
    });
    out
}

/// The mark of a step.
pub(crate) fn mark(step: u32) -> StepMark {
    let mut marks = Marks::default();
    marks.add(Marks::READ);
    if step > 0 {
        marks.add(Marks::WRITE);
    }
    if step % 5 == 3 {
        marks.add(Marks::REWARD);
    }
    if step % 11 == 6 {
        marks.add(Marks::INVALID);
    }
    StepMark {
        step: StepNo(step),
        reward: if step % 5 == 3 { 1.0 } else { 0.0 },
        progression: (step / 5) as f32 / 22.0,
        marks,
        prompt_tokens: 1880,
        cached_tokens: 636,
        completion_tokens: 64,
        ms: 3100.0,
        action: "Move East".into(),
    }
}

fn states(step: u32) -> BTreeMap<String, FileState> {
    let mut files = BTreeMap::from([(
        "goals.txt".to_owned(),
        FileState {
            text: "find wood\nfind water\n".into(),
            touched: None,
        },
    )]);
    if step > 0 {
        let state = FileState {
            text: map_text(step).into(),
            touched: Some(StepNo(step)),
        };
        files.insert("notes/map.txt".into(), state);
    }
    files
}

/// The memory at a step.
pub(crate) fn memory(step: u32) -> MemoryView {
    let before = step.checked_sub(1).map(states);
    MemoryView::new(StepNo(step), before.as_ref(), &states(step))
}

/// A run's constants.
pub(crate) fn meta() -> RunMeta {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    RunMeta {
        id: RunId::from("01920000-0000-7000-8000-000000000000"),
        created: "2026-11-29T20:37:51Z".into(),
        automem: "0.1.0".into(),
        world: WorldSpec {
            name: "crafter".into(),
            engine: "automem-native".into(),
            engine_version: "1.8.3".into(),
            task: "default".into(),
            actions: vec![Action::from("Noop"), Action::from("Move East")],
            instruction_prompt: "Play.".into(),
            fallback: Action::from("Noop"),
            step_limit: 2000,
            command: None,
        },
        seeds: vec![42],
        max_steps: 2000,
        scaffold: ScaffoldRef {
            name: "crafter-v0".into(),
            version: "0.1".into(),
            parent: None,
            digest: Digest::of("scaffold"),
            files: BTreeMap::from([
                file("METHOD.md", "# Method\nAppend-only notes per topic.\n"),
                file(
                    "prompts/log.md",
                    "# LOG\nWrite what you want to remember.\nFiles: {{ files }}\n",
                ),
                file(
                    "prompts/plan.md",
                    "# PLAN\n{{ observation }}\nEnd with <|ACTION|>…<|END|>.\n",
                ),
                file(
                    "scaffold.toml",
                    "# The plain start\nname = \"crafter-v0\"\n[budgets]\nturns = 3\n",
                ),
            ]),
        },
        model: ModelRef {
            name: "smollm2-135m".into(),
            backend: "llama".into(),
            is_llm: true,
            details: BTreeMap::new(),
        },
        specialist: None,
        sampling: Sampling::default(),
        workers: 1,
        exact: true,
        origin: None,
    }
}

/// An episode in numbers.
pub(crate) fn summary(steps: u32) -> EpisodeSummary {
    EpisodeSummary {
        episode: EpisodeNo(0),
        seed: 42,
        steps,
        total_reward: 6.0,
        progression: 6.0 / 22.0,
        prompt_tokens: 1880 * u64::from(steps),
        cached_tokens: 636 * u64::from(steps),
        completion_tokens: 64 * u64::from(steps),
        end: Some(EndReason::StepLimit),
        state: EpisodeState::Done,
    }
}

/// A run that has just been opened.
pub(crate) fn opened(steps: u32) -> Opened {
    Opened {
        path: PathBuf::from("/runs/crafter-42.db"),
        meta: Arc::new(meta()),
        rules: Arc::default(),
        timeline: Timeline {
            episode: EpisodeNo(0),
            from: StepNo(0),
            marks: (0..steps).map(mark).collect(),
            episodes: vec![summary(steps)],
            finished: true,
        },
        step: None,
    }
}

/// A finished run with everything loaded.
pub(crate) fn watch(steps: u32) -> Watch {
    let mut watch = Watch::new(opened(steps));
    for step in 0..steps {
        watch.records.put(StepNo(step), Arc::new(record(step)), StepNo(0));
        watch.memories.put(StepNo(step), Arc::new(memory(step)), StepNo(0));
    }
    let mut last = StepRecord::new(StepNo(steps));
    last.push(Body::Observed {
        frame: Arc::new(frame(steps)),
    });
    last.push(Body::EpisodeFinished {
        end: EndReason::StepLimit,
    });
    watch.records.put(StepNo(steps), Arc::new(last), StepNo(0));
    watch.memories.put(StepNo(steps), Arc::new(memory(steps)), StepNo(0));
    watch
}

/// The watch screen over a finished run, settled.
pub(crate) fn watching(size: (u16, u16), steps: u32, cursor: u32) -> State {
    let mut state = State::new(size, theme(), Screen::Watch);
    let mut watch = watch(steps);
    watch.go(StepNo(cursor));
    state.watch = Some(Box::new(watch));
    super::update::settle(&mut state);
    state
}

/// Entries of the list of runs.
pub(crate) fn entries() -> Vec<RunEntry> {
    let entry = |name: &str, created: &str, state: RunState| RunEntry {
        path: PathBuf::from(format!("/home/ada/.automem/runs/{name}")),
        created: created.into(),
        world: "crafter".into(),
        scaffold: "crafter-tiny".into(),
        model: "smollm2-135m".into(),
        is_llm: true,
        episodes: vec![summary(120)],
        planned: 1,
        elsewhere: false,
        max_steps: 2000,
        state,
    };
    let mut scripted = entry("b.db", "2026-11-29T18:00:00Z", RunState::Done);
    scripted.model = "scripted".into();
    scripted.is_llm = false;
    scripted.scaffold = "crafter-v0".into();
    let mut second = summary(300);
    second.episode = EpisodeNo(1);
    second.seed = 43;
    second.end = Some(EndReason::Terminated);
    scripted.episodes.push(second);
    scripted.planned = 2;
    let mut open = entry("c.db", "2026-11-28T09:30:00Z", RunState::Open);
    open.episodes[0].end = None;
    open.episodes[0].state = EpisodeState::Open;
    let mut broken = entry(
        "d.db",
        "",
        RunState::Broken("not a run file: the header is damaged; restore it from a copy".into()),
    );
    broken.episodes.clear();
    vec![
        entry("a.db", "2026-11-29T20:37:51Z", RunState::Done),
        scripted,
        open,
        broken,
    ]
}

/// The list of runs, settled.
pub(crate) fn listing(size: (u16, u16), entries: Vec<RunEntry>) -> State {
    let mut state = State::new(size, theme(), Screen::Runs);
    state.runs.take(entries);
    super::update::settle(&mut state);
    state
}
