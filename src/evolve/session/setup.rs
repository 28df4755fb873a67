//! What can be asked for.

use super::error::SessionError;
use super::state::Setup;
use crate::config::Workspace;
use crate::env;
use crate::scaffold::{Scaffold, digest_of};

impl Setup {
    /// Whether this can be asked for in a workspace.
    ///
    /// # Errors
    /// Why not, and what to give instead.
    pub fn check(&self, workspace: &Workspace) -> Result<(), SessionError> {
        check(self, workspace)
    }
}

fn check(setup: &Setup, workspace: &Workspace) -> Result<(), SessionError> {
    let wrong = |what: String, hint: &str| {
        Err(SessionError::Setup {
            what,
            hint: hint.to_owned(),
        })
    };
    if setup.seeds.is_empty() {
        return wrong(
            "no seeds are given".to_owned(),
            "give --seeds 42..51: the gate plays an episode a seed",
        );
    }
    if setup.iterations == 0 || setup.max_steps == 0 || setup.workers == 0 {
        return wrong(
            "an optimization needs at least one iteration, one step and one worker".to_owned(),
            "give --iterations, --max-steps and --workers of 1 or more",
        );
    }
    let scaffold = Scaffold::named(&setup.scaffold, workspace)?;
    let manifest = scaffold.manifest();
    if !env::leads_to(&setup.env, &manifest.env) {
        return wrong(
            format!(
                "the scaffold {} is for {}, not for {}",
                manifest.name, manifest.env, setup.env
            ),
            "choose a scaffold for this world (`automem scaffold list`)",
        );
    }
    let named = Scaffold::files_named(&manifest.name, workspace).ok();
    if named.is_none_or(|files| digest_of(&files) != scaffold.digest()) {
        return wrong(
            format!("{} is not what the name {} stands for", setup.scaffold, manifest.name),
            "make it known first: `automem scaffold new NAME --from FOLDER`, then give that name",
        );
    }
    let folder = workspace.scaffolds_dir().join(&setup.line);
    let is_name = !setup.line.is_empty()
        && !setup.line.starts_with('.')
        && setup
            .line
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !is_name {
        return wrong(
            format!("`{}` is no name for a scaffold", setup.line),
            "letters, digits, - _ and . make one",
        );
    }
    let line_is_taken = setup.line != manifest.name && (folder.exists() || Scaffold::shipped().contains(&setup.line));
    if line_is_taken {
        return wrong(
            format!("there is a scaffold {} already", setup.line),
            "go on from it with --scaffold, or give another name with --line",
        );
    }
    if setup.line == manifest.name && !folder.exists() {
        return wrong(
            format!("{} is shipped with the program and stays what it is", setup.line),
            "give another name with --line",
        );
    }
    Ok(())
}

/// The claim's name.
pub(super) fn claim(name: &str) -> String {
    format!("optimize-{name}")
}
