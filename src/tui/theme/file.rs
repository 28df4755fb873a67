//! Theme files: the shipped ones and a person's own, what they inherit, what is wrong in them.
//!
//! Owns the form of the file and where files are looked for. Must not know how colours degrade.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use toml::de::{DeTable, DeValue};

use super::{Rgb, Slot};
use crate::config::Workspace;
use crate::types::Digest;

static SHIPPED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/themes");

/// Keys of a theme file.
const KEYS: &[&str] = &["name", "dark", "monochrome", "inherits", "colors"];

/// Why a theme cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// No theme has this name.
    #[error("there is no theme `{name}`; {hint}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name, or all of them, and where more may lie.
        hint: String,
    },
    /// The file is wrong.
    #[error("{path}:{line}:{column}: {cause}")]
    File {
        /// The file.
        path: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong, and what to do.
        cause: String,
    },
    /// The file cannot be read.
    #[error("{path} cannot be read: {cause}; check the path, or choose another theme")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
}

/// Where themes are found: the shipped ones, and folders of a person's own, which win.
#[derive(Debug, Clone, Default)]
pub struct Themes {
    folders: Vec<PathBuf>,
}

/// Where a theme's text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Shipped(String),
    File(PathBuf),
}

/// What a theme file and those it inherits from say together.
pub(super) struct Content {
    pub(super) name: String,
    pub(super) dark: bool,
    pub(super) monochrome: bool,
    pub(super) rgb: Vec<Rgb>,
    /// Of the texts it was made of.
    pub(super) digest: Digest,
}

impl Themes {
    /// The themes of a workspace: its own `themes` folder, the user's, the shipped ones.
    pub fn of(workspace: &Workspace) -> Self {
        let user = directories::ProjectDirs::from("", "", "automem").map(|dirs| dirs.config_dir().join("themes"));
        Self::in_folders(std::iter::once(workspace.root().join("themes")).chain(user))
    }

    /// The shipped themes and those in the folders, nearest first.
    pub fn in_folders(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            folders: folders.into_iter().collect(),
        }
    }

    /// The folders a person may put themes into.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Names of all themes.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = SHIPPED.files().filter_map(|file| stem(file.path())).collect();
        for folder in &self.folders {
            // A folder that is not there holds no themes.
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            names.extend(entries.filter_map(|entry| stem(&entry.path())));
        }
        names.sort();
        names.dedup();
        names
    }

    /// Reads a theme by its name or path.
    pub(super) fn read(&self, key: &str) -> Result<Content, ThemeError> {
        let mut chain = Vec::new();
        let mut merged = Merged::default();
        let source = self.find(key, None, &chain).ok_or_else(|| self.unknown(key))?;
        self.collect(source, &mut merged, &mut chain)?;
        let first = chain.first().map(Source::label).unwrap_or_default();
        let missing: Vec<&str> = Slot::ALL
            .iter()
            .map(|slot| slot.name())
            .filter(|name| !merged.colors.contains_key(*name))
            .collect();
        if !missing.is_empty() {
            return Err(ThemeError::File {
                path: first,
                line: 1,
                column: 1,
                cause: format!(
                    "no colour for {}; add {}, or inherit them: inherits = \"dark\"",
                    missing.join(", "),
                    if missing.len() == 1 { "it" } else { "them" }
                ),
            });
        }
        Ok(Content {
            name: merged.name.unwrap_or_else(|| key.to_owned()),
            dark: merged.dark.unwrap_or(true),
            monochrome: merged.monochrome.unwrap_or(false),
            rgb: Slot::ALL
                .iter()
                .map(|slot| merged.colors.get(slot.name()).copied().unwrap_or_default())
                .collect(),
            digest: Digest::of_parts(merged.texts.iter().map(String::as_bytes)),
        })
    }

    /// The theme of a name, or the file of a path (relative to the file that names it). A file of
    /// the chain is not found again, so that a person's `dark` may inherit the shipped one.
    fn find(&self, key: &str, beside: Option<&Path>, chain: &[Source]) -> Option<Source> {
        let free = |source: &Source| !chain.contains(source);
        if key.ends_with(".toml") || key.contains(['/', '\\']) {
            let path = match beside {
                Some(folder) => folder.join(key),
                None => PathBuf::from(key),
            };
            return path.is_file().then_some(Source::File(path)).filter(free);
        }
        self.folders
            .iter()
            .map(|folder| folder.join(format!("{key}.toml")))
            .filter(|path| path.is_file())
            .map(Source::File)
            .find(free)
            .or_else(|| {
                SHIPPED
                    .get_file(format!("{key}.toml"))
                    .map(|_| Source::Shipped(key.to_owned()))
                    .filter(free)
            })
    }

    fn unknown(&self, key: &str) -> ThemeError {
        let names = self.names();
        let mut hint = nearest(key, &names.iter().map(String::as_str).collect::<Vec<_>>());
        if let Some(folder) = self.folders.first() {
            hint.push_str(&format!("; your own go into {}", folder.display()));
        }
        ThemeError::Unknown {
            name: key.to_owned(),
            hint,
        }
    }

    /// Takes in a file and those it inherits from; what is nearer wins.
    fn collect(&self, source: Source, into: &mut Merged, chain: &mut Vec<Source>) -> Result<(), ThemeError> {
        let text = source.text()?;
        let at = |span: Range<usize>, cause: String| source.wrong(&text, span, cause);
        let table =
            DeTable::parse(&text).map_err(|error| at(error.span().unwrap_or_default(), first_line(error.message())))?;
        let mut parent = None;
        for (key, value) in table.get_ref() {
            let (name, span) = (key.get_ref().as_ref(), value.span());
            let wanted = |what: &str| at(span.clone(), format!("`{name}` must be {what}"));
            match name {
                "name" => {
                    let text = value.get_ref().as_str().ok_or_else(|| wanted("a text in quotes"))?;
                    into.name.get_or_insert_with(|| text.to_owned());
                }
                "dark" => {
                    let dark = value.get_ref().as_bool().ok_or_else(|| wanted("true or false"))?;
                    into.dark.get_or_insert(dark);
                }
                "monochrome" => {
                    let mono = value.get_ref().as_bool().ok_or_else(|| wanted("true or false"))?;
                    into.monochrome.get_or_insert(mono);
                }
                "inherits" => {
                    let text = value
                        .get_ref()
                        .as_str()
                        .ok_or_else(|| wanted("a theme's name or path"))?;
                    parent = Some((text.to_owned(), span));
                }
                "colors" => {
                    let colors = value.get_ref().as_table().ok_or_else(|| wanted("a table: [colors]"))?;
                    for (key, value) in colors {
                        let (slot, rgb) = color(key.get_ref(), key.span(), value.get_ref(), value.span())
                            .map_err(|(span, cause)| at(span, cause))?;
                        into.colors.entry(slot).or_insert(rgb);
                    }
                }
                other => {
                    let known = if Slot::ALL.iter().any(|slot| slot.name() == other) {
                        "colours stand under [colors]".to_owned()
                    } else {
                        nearest(other, KEYS)
                    };
                    return Err(at(key.span(), format!("a theme has no `{other}`; {known}")));
                }
            }
        }
        into.name.get_or_insert_with(|| source.stem());
        into.texts.push(text.clone());
        chain.push(source.clone());
        let Some((parent, span)) = parent else {
            return Ok(());
        };
        match self.find(&parent, source.folder(), chain) {
            Some(next) => self.collect(next, into, chain),
            None if self.find(&parent, source.folder(), &[]).is_some() => Err(at(
                span,
                format!("`{parent}` inherits from this theme in turn; take one of the two lines out"),
            )),
            None => Err(at(span, self.unknown(&parent).to_string())),
        }
    }
}

#[derive(Default)]
struct Merged {
    name: Option<String>,
    dark: Option<bool>,
    monochrome: Option<bool>,
    colors: BTreeMap<&'static str, Rgb>,
    texts: Vec<String>,
}

impl Source {
    fn text(&self) -> Result<String, ThemeError> {
        match self {
            Self::Shipped(name) => Ok(SHIPPED
                .get_file(format!("{name}.toml"))
                .and_then(|file| file.contents_utf8())
                .unwrap_or_default()
                .to_owned()),
            Self::File(path) => std::fs::read_to_string(path).map_err(|cause| ThemeError::Unreadable {
                path: path.display().to_string(),
                cause,
            }),
        }
    }

    fn label(&self) -> String {
        match self {
            Self::Shipped(name) => format!("themes/{name}.toml"),
            Self::File(path) => path.display().to_string(),
        }
    }

    fn stem(&self) -> String {
        match self {
            Self::Shipped(name) => name.clone(),
            Self::File(path) => stem(path).unwrap_or_default(),
        }
    }

    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Shipped(_) => None,
            Self::File(path) => path.parent(),
        }
    }

    fn wrong(&self, text: &str, span: Range<usize>, cause: String) -> ThemeError {
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        ThemeError::File {
            path: self.label(),
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
            cause,
        }
    }
}

/// One entry under `[colors]`.
fn color(
    key: &str,
    key_span: Range<usize>,
    value: &DeValue<'_>,
    span: Range<usize>,
) -> Result<(&'static str, Rgb), (Range<usize>, String)> {
    let Some(slot) = Slot::ALL.iter().find(|slot| slot.name() == key) else {
        let names: Vec<&str> = Slot::ALL.iter().map(|slot| slot.name()).collect();
        let cause = format!("`{key}` is the name of no colour; {}", nearest(key, &names));
        return Err((key_span, cause));
    };
    match value.as_str().and_then(parse_hex) {
        Some(rgb) => Ok((slot.name(), rgb)),
        None => Err((span, format!("`{key}` is no colour; write it as \"#rrggbb\""))),
    }
}

fn stem(path: &Path) -> Option<String> {
    let is_theme = path.extension().is_some_and(|end| end == "toml");
    is_theme.then(|| Some(path.file_stem()?.to_str()?.to_owned()))?
}

/// `did you mean ...?` when a known word is close, else all of them.
fn nearest(word: &str, known: &[&str]) -> String {
    match similar::get_close_matches(word, known, 1, 0.6).first() {
        Some(close) => format!("did you mean `{close}`?"),
        None => format!("there are: {}", known.join(", ")),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn parse_hex(text: &str) -> Option<Rgb> {
    let digits = text.strip_prefix('#')?;
    if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some((part(0)?, part(2)?, part(4)?))
}
