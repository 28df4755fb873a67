//! What of the game is installed, and what is wrong with it, each with the command that mends it: for `automem doctor`.
//!
//! Owns looking. Must not change, load or make anything.

use std::path::Path;

use super::{BOXOBAN, boxoban, may_run, sums};
use crate::env::nethack::elf::Elf;
use crate::env::nethack::install::{Engine, Missing, check};
use crate::jobs::Cancel;

/// How a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It can be played.
    Fine,
    /// It was never installed, which is no fault.
    Absent,
    /// It is there and does not work.
    Broken,
}

/// A part of the game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub how: How,
    /// What was found.
    pub said: String,
    /// What mends it.
    pub fix: Option<String>,
}

/// Looks at a data directory.
pub fn look(data: &Path) -> Vec<Seen> {
    let mut seen = Vec::new();
    for engine in Engine::ALL {
        seen.push(engine_seen(data, engine));
        if seen.last().is_some_and(|last| last.how != How::Absent) {
            seen.push(minihack_seen(data, engine));
        }
    }
    if seen.iter().any(|part| part.how != How::Absent) {
        seen.push(boxoban_seen(data));
    }
    seen
}

fn engine_seen(data: &Path, engine: Engine) -> Seen {
    let name = format!("{} {}", engine.name(), engine.version());
    let again = command(engine);
    match check(data, engine) {
        Err(Missing::Data(_) | Missing::Engine { .. }) => {
            let said = format!("not installed in {}", data.display());
            part(name, How::Absent, said, Some(again))
        }
        Err(Missing::File { path, .. }) => {
            part(name, How::Broken, format!("{} is missing", path.display()), Some(again))
        }
        Ok(found) => match fault(data, engine, &found.library, &found.nethackdir) {
            Some((said, fix)) => part(name, How::Broken, said, Some(fix)),
            None => part(name, How::Fine, data.join(engine.folder()).display().to_string(), None),
        },
    }
}

/// What is wrong with an engine that is there, and what mends it.
fn fault(data: &Path, engine: Engine, library: &Path, nethackdir: &Path) -> Option<(String, String)> {
    let again = command(engine);
    let bytes = match std::fs::read(library) {
        Ok(bytes) => bytes,
        Err(error) => return Some((format!("{} cannot be read: {error}", library.display()), again)),
    };
    // Elsewhere libraries have another form, and the system's loader says what is wrong with one.
    if cfg!(target_os = "linux")
        && let Err(error) = Elf::read(&bytes)
    {
        return Some((format!("{} cannot be loaded: {error}", library.display()), again));
    }
    for program in ["lev_comp", "dlb"] {
        let path = nethackdir.join(program);
        let shown = path.display();
        if !path.is_file() {
            return Some((format!("{shown} is missing: MiniHack's levels cannot be made"), again));
        }
        if !may_run(&path) {
            return Some((
                format!("{shown} may not be run: MiniHack's levels cannot be made"),
                again,
            ));
        }
        if no_programs(&path) {
            let fix = "set AUTOMEM_NETHACK to a folder on a disk that programs may be run from, and run `automem setup nethack`";
            return Some((format!("{shown} is on a disk mounted `noexec`"), fix.to_owned()));
        }
    }
    changed(&data.join(engine.folder())).then(|| ("its files are not those that were installed".to_owned(), again))
}

fn minihack_seen(data: &Path, engine: Engine) -> Seen {
    let folder = data.join(engine.minihack_folder());
    let name = engine.minihack_folder().replace('-', " ");
    if !folder.is_dir() {
        let said = format!(
            "not installed for {}: its MiniHack tasks cannot be played",
            engine.name()
        );
        return part(name, How::Absent, said, Some(command(engine)));
    }
    let missing = ["lib/dungeon", "lib/quest.dat", "dat/corridor3.des"]
        .into_iter()
        .find(|file| !folder.join(file).is_file());
    if let Some(file) = missing {
        let said = format!("{} is missing", folder.join(file).display());
        return part(name, How::Broken, said, Some(command(engine)));
    }
    if changed(&folder) {
        let said = "its files are not those that were installed".to_owned();
        return part(name, How::Broken, said, Some(command(engine)));
    }
    part(name, How::Fine, folder.display().to_string(), None)
}

fn boxoban_seen(data: &Path) -> Seen {
    let folder = data.join(BOXOBAN);
    let fix = "automem setup nethack --boxoban github (or `--boxoban DIR`, a copy of the repository)".to_owned();
    if !folder.is_dir() {
        let said = "not installed: the two Boxoban tasks cannot be played".to_owned();
        return part("boxoban".to_owned(), How::Absent, said, Some(fix));
    }
    match boxoban::names(&folder) {
        Ok(files) if !changed(&folder) => {
            let said = format!("{} files of levels in {}", files.len(), folder.display());
            part("boxoban".to_owned(), How::Fine, said, None)
        }
        Ok(_) => {
            let said = "its files are not those that were installed".to_owned();
            part("boxoban".to_owned(), How::Broken, said, Some(fix))
        }
        Err(error) => part("boxoban".to_owned(), How::Broken, error.to_string(), Some(fix)),
    }
}

/// Whether a folder that names its files holds others.
fn changed(folder: &Path) -> bool {
    matches!(sums::intact(folder, &Cancel::new()), Ok(Some(false)))
}

/// Whether programs on the disk of a file may not be run.
#[cfg(unix)]
fn no_programs(path: &Path) -> bool {
    use rustix::fs::StatVfsMountFlags;
    rustix::fs::statvfs(path).is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

#[cfg(not(unix))]
fn no_programs(_: &Path) -> bool {
    false
}

fn command(engine: Engine) -> String {
    match engine {
        Engine::BalrogNle => "automem setup nethack".to_owned(),
        Engine::Nle => format!("automem setup nethack --engine {}", engine.name()),
    }
}

fn part(name: String, how: How, said: String, fix: Option<String>) -> Seen {
    Seen { name, how, said, fix }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data directory with an engine as the set-up makes it; the library is this program, which is one for this
    /// machine.
    fn installed() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path();
        let tools = data.join("balrog-nle-0.9.0/nethackdir");
        std::fs::create_dir_all(&tools).unwrap();
        std::fs::copy(
            std::env::current_exe().unwrap(),
            data.join("balrog-nle-0.9.0/libnethack.so"),
        )
        .unwrap();
        std::fs::write(tools.join("nhdat"), "data").unwrap();
        for program in ["lev_comp", "dlb"] {
            std::fs::write(tools.join(program), "program").unwrap();
            run_right(&tools.join(program), 0o755);
        }
        for file in ["lib/dungeon", "lib/quest.dat", "dat/corridor3.des"] {
            let path = data.join("minihack-0.1.6").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "level").unwrap();
        }
        for file in ["boxoban/hard/000.txt", "boxoban/medium/train/000.txt"] {
            let path = data.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "level").unwrap();
        }
        dir
    }

    fn run_right(path: &Path, mode: u32) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let _ = (path, mode);
    }

    fn found(data: &Path, name: &str) -> Seen {
        let all = look(data);
        let seen = all.iter().find(|seen| seen.name.starts_with(name));
        seen.unwrap_or_else(|| panic!("no {name} in {all:?}")).clone()
    }

    #[test]
    fn nothing_installed_is_no_fault_and_makes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("none");
        let all = look(&data);
        assert!(
            all.len() == 2 && all.iter().all(|seen| seen.how == How::Absent),
            "{all:?}"
        );
        assert_eq!(all[1].fix.as_deref(), Some("automem setup nethack --engine nle"));
        assert!(!data.exists());
    }

    #[test]
    #[cfg(unix)]
    fn each_fault_is_told_with_what_mends_it() {
        let dir = installed();
        let data = dir.path();
        for name in ["balrog-nle", "minihack", "boxoban"] {
            assert_eq!(found(data, name).how, How::Fine, "{:?}", found(data, name));
        }
        assert_eq!(found(data, "nle").how, How::Absent);
        let told = |name: &str, words: &str| {
            let seen = found(data, name);
            let fix = seen.fix.clone().unwrap_or_default();
            assert!(
                seen.said.contains(words) && fix.contains("automem setup nethack"),
                "{words}: {seen:?}"
            );
            seen.how
        };
        std::fs::remove_dir_all(data.join("boxoban/hard")).unwrap();
        assert_eq!(told("boxoban", "hard"), How::Broken);
        std::fs::remove_dir_all(data.join("boxoban")).unwrap();
        assert_eq!(told("boxoban", "cannot be played"), How::Absent);
        std::fs::remove_file(data.join("minihack-0.1.6/lib/dungeon")).unwrap();
        assert_eq!(told("minihack", "dungeon is missing"), How::Broken);
        std::fs::remove_dir_all(data.join("minihack-0.1.6")).unwrap();
        assert_eq!(told("minihack", "not installed"), How::Absent);
        let tools = data.join("balrog-nle-0.9.0/nethackdir");
        std::fs::write(data.join("balrog-nle-0.9.0/SHA256SUMS"), "00  nethackdir/nhdat\n").unwrap();
        assert_eq!(told("balrog-nle", "not those that were installed"), How::Broken);
        run_right(&tools.join("dlb"), 0o644);
        assert_eq!(told("balrog-nle", "dlb may not be run"), How::Broken);
        std::fs::remove_file(tools.join("lev_comp")).unwrap();
        assert_eq!(told("balrog-nle", "lev_comp is missing"), How::Broken);
        if cfg!(target_os = "linux") {
            std::fs::write(data.join("balrog-nle-0.9.0/libnethack.so"), "no library").unwrap();
            assert_eq!(told("balrog-nle", "cannot be loaded"), How::Broken);
        }
        std::fs::remove_file(tools.join("nhdat")).unwrap();
        assert_eq!(told("balrog-nle", "nhdat is missing"), How::Broken);
    }
}
