//! What all episodes of a run share, worked out once: rules, help texts, quotas.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::controls::Controls;
use super::error::AgentError;
use super::phases::{Mending, Rules};
use super::prompts;
use super::recorder::Recorder;
use crate::llm::ChatModel;
use crate::memory::{MemoryDir, Quotas};
use crate::protocol::{self, GrammarSpec, OpSyntax};
use crate::scaffold::{Entry, Manifest, OpHelp, Scaffold};
use crate::types::{Action, MemoryFiles, ModelRef, Phase, Sampling, WorldSpec};

/// The constants of a run.
pub(super) struct Shared {
    pub(super) world: WorldSpec,
    pub(super) scaffold: Scaffold,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) model_name: String,
    /// The specialist the record begins with.
    pub(super) first_specialist: Option<ModelRef>,
    pub(super) sampling: Sampling,
    pub(super) max_steps: u32,
    pub(super) quotas: Quotas,
    pub(super) log: PhaseSetup,
    pub(super) plan: PhaseSetup,
    /// Every operation there is, by name.
    pub(super) vocabulary: BTreeMap<&'static str, Entry>,
    /// The folder that holds one memory directory an episode.
    pub(super) memory_root: PathBuf,
    pub(super) recorder: Recorder,
    pub(super) controls: Controls,
    /// Memory directories of episodes that are over.
    pub(super) over: Mutex<Vec<MemoryDir>>,
    /// The first episode that stays open because its world failed.
    pub(super) failed: Mutex<Option<AgentError>>,
}

/// What a phase works with.
pub(super) struct PhaseSetup {
    pub(super) rules: Rules,
    pub(super) help: Arc<Vec<OpHelp>>,
    pub(super) actions: Arc<Vec<String>>,
    ops: Vec<OpSyntax>,
}

impl PhaseSetup {
    pub(super) fn new(phase: Phase, scaffold: &Scaffold, world: &WorldSpec) -> Self {
        let manifest = scaffold.manifest();
        let (turns, allowed) = match phase {
            Phase::Log => (manifest.budgets.log_turns, &manifest.log_ops),
            Phase::Plan => (manifest.budgets.plan_turns, &manifest.plan_ops),
        };
        let vocabulary = scaffold.vocabulary();
        let actions = actions(manifest, world);
        let fallback = manifest.actions.fallback.as_ref().and_then(|wanted| {
            actions
                .iter()
                .find(|action| action.as_str() == wanted.as_str())
                .cloned()
        });
        Self {
            rules: Rules {
                phase,
                turns,
                ops_per_turn: manifest.budgets.ops_per_turn,
                order: manifest.order,
                vocabulary: Arc::new(vocabulary.iter().map(|op| op.syntax).collect()),
                allowed: Arc::new(allowed.clone()),
                actions: Arc::new(actions.clone()),
                fallback: fallback.unwrap_or_else(|| world.fallback.clone()),
                mending: Arc::new(Mending {
                    strip: manifest.actions.strip.clone(),
                    repair: manifest.actions.repair.clone(),
                }),
                gated: scaffold.script().is_some(),
                rejections: manifest.budgets.rejections,
            },
            help: Arc::new(prompts::op_help(&vocabulary, allowed)),
            actions: Arc::new(actions.into_iter().map(|action| action.0).collect()),
            ops: vocabulary
                .iter()
                .map(|op| op.syntax)
                .filter(|op| allowed.contains(&op.name))
                .collect(),
        }
    }

    /// The grammar of an answer. On the last turn of PLAN only an action is left.
    pub(super) fn grammar(&self, files: &MemoryFiles, max_tokens: u32, turns_left: u32) -> String {
        /// What the tags of an operation take beside its text, in characters.
        const TAGS: usize = 40;
        let mut spec = GrammarSpec::new(self.rules.phase, self.ops.clone());
        spec.files = files.keys().cloned().collect();
        spec.min_ops = 0;
        spec.max_ops = self.rules.ops_per_turn.min(4) as usize;
        if self.rules.phase == Phase::Plan {
            spec.actions = self.actions.to_vec();
            if turns_left <= 1 {
                spec.max_ops = 0;
            }
        }
        // Text that is longer than the answer may be would leave its tag open.
        let room = (max_tokens as usize * 3) / spec.max_ops.max(1);
        spec.text_chars = room.saturating_sub(TAGS).clamp(16, 160);
        protocol::gbnf(&spec)
    }
}

/// The actions that are valid: the world's, or those of them that the scaffold allows.
pub(super) fn actions(manifest: &Manifest, world: &WorldSpec) -> Vec<Action> {
    let allowed = manifest.actions.allowed.as_ref();
    world
        .actions
        .iter()
        .filter(|action| allowed.is_none_or(|allowed| allowed.contains(&action.0)))
        .cloned()
        .collect()
}

/// The quotas of a manifest.
pub(super) fn quotas(manifest: &Manifest) -> Quotas {
    let budgets = &manifest.budgets;
    Quotas {
        file_bytes: budgets.file_bytes,
        directory_bytes: budgets.directory_bytes,
        result_bytes: usize::try_from(budgets.result_bytes).unwrap_or(usize::MAX),
        files: budgets.files as usize,
    }
}

/// The sampling of a run: the scaffold's wishes over the given base.
pub(super) fn sampling(manifest: &Manifest, base: Sampling) -> Sampling {
    let wish = manifest.sampling;
    Sampling {
        temperature: wish.temperature.unwrap_or(base.temperature),
        top_p: wish.top_p.unwrap_or(base.top_p),
        top_k: wish.top_k.unwrap_or(base.top_k),
        max_tokens: wish.max_tokens.unwrap_or(base.max_tokens),
        seed: base.seed,
    }
}
