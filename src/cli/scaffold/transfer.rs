//! `automem scaffold export` and `import`: scaffolds to and from folders and zip files.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::json;

use super::{Rehearsal, checked, lineage, show};
use crate::cli::output::{print_json, print_text};
use crate::config::Workspace;
use crate::protocol::sanitize::clean;
use crate::scaffold::{self, AnyFolder, MANIFEST, Scaffold, Versions, sound_name};

/// A larger file is no archive of a scaffold.
const MAX_ARCHIVE_BYTES: u64 = 16 << 20;

fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("zip"))
}

/// Writes a scaffold where nothing is yet.
pub(super) fn export(name: &str, to: &Path, workspace: &Workspace) -> anyhow::Result<ExitCode> {
    let files = Scaffold::any_named(name, workspace)?.files;
    if to.symlink_metadata().is_ok() {
        bail!("{} exists already; choose another name", to.display());
    }
    let written = || format!("{} could not be written", to.display());
    if is_archive(to) {
        let inner = named_in(&files).unwrap_or_else(|| "scaffold".to_owned());
        let bytes = scaffold::pack(&inner, &files)?;
        let above = to
            .parent()
            .filter(|above| *above != Path::new(""))
            .unwrap_or(Path::new("."));
        std::fs::create_dir_all(above).with_context(written)?;
        let mut file = tempfile::NamedTempFile::new_in(above).with_context(written)?;
        file.write_all(&bytes).with_context(written)?;
        file.as_file().sync_all().with_context(written)?;
        file.persist_noclobber(to)
            .map_err(|error| error.error)
            .with_context(written)?;
    } else {
        scaffold::write_new(to, &files).with_context(written)?;
    }
    let digest = scaffold::digest_of(&files).short();
    print_text(&clean(&format!("{} ({} files, {digest})\n", to.display(), files.len())))?;
    Ok(ExitCode::SUCCESS)
}

/// The name its manifest gives, where it can be a folder's.
fn named_in(files: &BTreeMap<String, String>) -> Option<String> {
    let manifest: toml::Table = files.get(MANIFEST)?.parse().ok()?;
    Some(manifest.get("name")?.as_str()?.to_owned()).filter(|name| sound_name(name))
}

fn read(from: &Path) -> anyhow::Result<AnyFolder> {
    let shown = from.display();
    let meta = std::fs::metadata(from).with_context(|| format!("{shown} could not be read"))?;
    if meta.is_dir() {
        return Ok(scaffold::read_any(from)?);
    }
    if meta.len() > MAX_ARCHIVE_BYTES {
        bail!(
            "{shown} has {} bytes; an archive of a scaffold may have {MAX_ARCHIVE_BYTES}",
            meta.len()
        );
    }
    let bytes = std::fs::read(from).with_context(|| format!("{shown} could not be read"))?;
    let files = scaffold::unpack(&bytes).with_context(|| format!("{shown} was not imported"))?;
    Ok(AnyFolder {
        files,
        left_out: Vec::new(),
    })
}

/// Takes a scaffold into the workspace, also one with faults: they are told, and can be mended there.
pub(super) fn import(
    from: &Path,
    name: Option<&str>,
    workspace: &Workspace,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let found = read(from)?;
    if let Some(what) = found.foreign() {
        let shown = from.display();
        bail!("{shown} is {what}: `automem scaffold show {shown}` and `automem scaffold diff` take it where it is");
    }
    let mut files = found.files.clone();
    let own = named_in(&files);
    let stem = || Some(from.file_stem()?.to_str()?.to_owned()).filter(|stem| sound_name(stem));
    let name = match name.map(str::to_owned).or_else(|| own.clone()).or_else(stem) {
        Some(name) if sound_name(&name) => name,
        Some(name) => bail!("`{name}` cannot be a scaffold's name; use letters, digits, `-`, `_` and `.`"),
        None => bail!("{} does not say its name; give one with --as NAME", from.display()),
    };
    let folder = workspace.scaffolds_dir().join(&name);
    if folder.symlink_metadata().is_ok() || Scaffold::list(workspace).iter().any(|known| known.name == name) {
        bail!("there is a scaffold `{name}` already; import it under another name with --as NAME");
    }
    let original = scaffold::digest_of(&files);
    if let Some(manifest) = files.get_mut(MANIFEST).filter(|_| own.as_ref() != Some(&name)) {
        *manifest = lineage::with_head(manifest, &[("name", &name)]);
    }
    let versions = Versions::open(workspace)?;
    let digest = scaffold::digest_of(&files);
    let parent = (digest != original).then_some(original);
    versions.keep(&files, &name, parent, &format!("imported from {}", from.display()))?;
    versions.install(&name, digest, None)?;
    let report = checked(files, workspace, &Rehearsal::Usual)?;
    let ok = report.problems.is_empty();
    if as_json {
        print_json(&json!({
            "name": name, "folder": folder, "digest": digest, "ok": ok, "problems": report.problems,
            "notices": report.notices, "left_out": found.left_out,
        }))?;
    } else {
        let mut text = format!("{}\n", folder.display());
        for note in show::notes(&name, &found) {
            text.push_str(&format!("{note}\n"));
        }
        text.push_str(&report.told(&name));
        if !ok {
            text.push_str(&format!("It is there; mend it, then: automem scaffold check {name}\n"));
        }
        print_text(&clean(&text))?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
