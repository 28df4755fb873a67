//! Scaffolds: the prompts, budgets, memory files and vocabulary an agent works with.
//!
//! A scaffold is a folder: `scaffold.toml`, minijinja templates under `prompts/`, `hooks.star`, `METHOD.md`.
//! Owns reading it, checking it (with file, line, column and a hint), rendering its prompts, running its
//! script in a process of its own, the rules of its memory files, and comparing two scaffolds.
//! Must not call a model, play a world or touch an agent's memory.

mod actions;
mod archive;
mod check;
mod diff;
mod error;
mod folder;
pub mod hooks;
mod library;
mod lineage;
mod manifest;
mod migrate;
mod resolve;
mod schema;
mod templates;
mod upkeep;
mod variants;
mod vars;
mod versions;
mod vocabulary;

pub use actions::{ActionRules, ResultForm};
pub use archive::{ArchiveError, pack, unpack};
pub use check::check;
pub use diff::{DiffLine, FileDiff, LineTag, diff};
pub use error::{ProblemAt, ScaffoldError};
pub use folder::{files_problem, path_problem, sound_name};
pub use library::{AnyFolder, ScaffoldName, Source, line_of, read_any, read_folder, write_new};
pub use lineage::{Lineage, Node, RunScore, lineage};
pub use manifest::{
    Budgets, FileSpec, Manifest, OpsOrder, Policy, PromptSpec, PromptWhen, Prune, Retention, SamplingSpec,
};
pub use migrate::{FileFate, FileMove, moves};
pub use schema::compare_files;
pub use templates::{Template, Variable, variables};
pub use upkeep::{Kept, upserted};
pub use variants::Variant;
pub use vars::{
    ConsultedVars, ContinueVars, FileLine, Inlined, MemoryView, OpHelp, OwnVars, PlannedFile, StepVars, SystemVars,
    TemplateVars,
};
pub use versions::{Installed, Version, VersionError, Versions};
pub use vocabulary::{CustomOp, Entry};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::position;
use crate::types::{Digest, MemoryFiles, ScaffoldRef};

/// Name of the manifest inside a scaffold's folder.
pub const MANIFEST: &str = "scaffold.toml";

/// A scaffold that can be used: its manifest is sound and its templates compile. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Scaffold(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    manifest: Manifest,
    files: BTreeMap<String, String>,
    digest: Digest,
    templates: Arc<templates::Templates>,
}

impl Scaffold {
    /// A scaffold from its files (path inside the folder -> text), as a run's record keeps them.
    ///
    /// # Errors
    /// When the manifest is not sound or a template is missing or does not compile.
    pub fn from_files(files: BTreeMap<String, String>) -> Result<Self, ScaffoldError> {
        let (manifest, mut problems) = manifest::read(&files);
        let (templates, template_problems) =
            templates::Templates::compile(&files, &check::own_names(manifest.as_ref()));
        problems.extend(template_problems);
        if let Some(manifest) = &manifest {
            problems.extend(check::missing_templates(manifest, &files));
        }
        match (manifest, problems.is_empty()) {
            (Some(manifest), true) => Ok(Self(Arc::new(Inner {
                digest: digest_of(&files),
                manifest,
                files,
                templates: Arc::new(templates),
            }))),
            (manifest, _) => Err(ScaffoldError::Invalid {
                name: manifest.map_or_else(|| MANIFEST.to_owned(), |manifest| manifest.name),
                problems,
            }),
        }
    }

    /// The checked manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    /// All its files with their text.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.0.files
    }

    /// Digest over all its files.
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// The scaffold as a run records it.
    pub fn reference(&self) -> ScaffoldRef {
        let manifest = self.manifest();
        ScaffoldRef {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            parent: manifest.parent.clone(),
            digest: self.digest(),
            files: self.files().clone(),
        }
    }

    /// The memory files a fresh episode starts with.
    pub fn initial_memory(&self) -> MemoryFiles {
        self.manifest()
            .files
            .iter()
            .map(|(path, file)| (path.clone(), file.initial.as_str().into()))
            .collect()
    }

    /// Fills a template. `vars` must be the kind that belongs to the template.
    ///
    /// # Errors
    /// When the template uses something that does not exist, with file, line and column.
    pub fn render(&self, template: Template, vars: &dyn TemplateVars) -> Result<String, ScaffoldError> {
        let usual = &template.file()[templates::FOLDER.len()..];
        let file = self.manifest().templates.get(&template).map_or(usual, String::as_str);
        self.0.templates.render(template, file, vars)
    }

    /// Fills another template of the same kind, a file in `prompts/`.
    ///
    /// # Errors
    /// As [`Scaffold::render`], and when there is no such file.
    pub fn render_file(
        &self,
        template: Template,
        file: &str,
        vars: &dyn TemplateVars,
    ) -> Result<String, ScaffoldError> {
        self.0.templates.render(template, file, vars)
    }

    /// The scaffold as it is for a task of its world: variants are worked in. Its files and digest stay.
    pub fn for_task(&self, task: &str) -> Self {
        Self(Arc::new(Inner {
            manifest: self.manifest().for_task(task),
            files: self.files().clone(),
            digest: self.digest(),
            templates: Arc::clone(&self.0.templates),
        }))
    }

    /// The text of its script, if it has one.
    pub fn script(&self) -> Option<&str> {
        self.files().get(hooks::HOOKS).map(String::as_str)
    }

    /// The operations its agent may know: the memory's, and its own in their places.
    pub fn vocabulary(&self) -> Vec<Entry> {
        vocabulary::entries(&self.manifest().custom_ops)
    }
}

/// Digest over a scaffold's files: paths and texts, in order of path.
pub fn digest_of(files: &BTreeMap<String, String>) -> Digest {
    Digest::of_parts(files.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]))
}
