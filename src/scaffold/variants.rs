//! What a scaffold does otherwise for some tasks of its world.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::manifest::{FileSpec, Manifest};
use super::position::hint_among;
use super::resolve::Finder;
use super::templates::Template;

/// The keys of `[variants.NAME]`.
pub(super) const KEYS: &[&str] = &["task", "templates", "fallback", "allowed", "initial", "vars"];

/// A variant: taken when the pattern is found in the task's name.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Regular expression over the task's name.
    pub task: String,
    /// Templates in the place of the usual ones, files in `prompts/`.
    pub templates: BTreeMap<Template, String>,
    /// Another fallback.
    pub fallback: Option<String>,
    /// Other valid actions.
    pub allowed: Option<Vec<String>>,
    /// Other initial texts of memory files.
    pub initial: BTreeMap<String, String>,
    /// Other values of the scaffold's own variables.
    pub vars: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVariant {
    task: Spanned<String>,
    #[serde(default)]
    templates: BTreeMap<Spanned<String>, String>,
    fallback: Option<String>,
    allowed: Option<Vec<String>>,
    #[serde(default)]
    initial: BTreeMap<Spanned<String>, String>,
    #[serde(default)]
    vars: BTreeMap<String, toml::Value>,
}

pub(super) fn resolve(
    raw: &BTreeMap<Spanned<String>, RawVariant>,
    files: &BTreeMap<String, FileSpec>,
    find: &mut Finder<'_>,
) -> Vec<Variant> {
    let paths: Vec<&str> = files.keys().map(String::as_str).collect();
    let words: Vec<(&str, Template)> = Template::every().map(|template| (template.word(), template)).collect();
    let mut in_order: Vec<_> = raw.iter().collect();
    // As written: the first that fits is taken, and `corridorbattle` may stand before `corridor`.
    in_order.sort_by_key(|(name, _)| name.span().start);
    in_order
        .into_iter()
        .map(|(name, variant)| {
            for path in variant.initial.keys() {
                if !files.contains_key(path.get_ref()) {
                    let message = format!("[files] does not plan `{}`", path.get_ref());
                    find.at(path.span(), message, hint_among(path.get_ref(), &paths));
                }
            }
            Variant {
                name: name.get_ref().clone(),
                task: find.pattern(&variant.task),
                templates: variant
                    .templates
                    .iter()
                    .map(|(word, file)| (find.word(&Some(word.clone()), &words, Template::System), file.clone()))
                    .collect(),
                fallback: variant.fallback.clone(),
                allowed: variant.allowed.clone(),
                initial: variant
                    .initial
                    .iter()
                    .map(|(path, text)| (path.get_ref().clone(), text.clone()))
                    .collect(),
                vars: variant
                    .vars
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), serde_json::to_value(value).ok()?)))
                    .collect(),
            }
        })
        .collect()
}

impl Manifest {
    /// The manifest as it is for a task: the first variant that fits is worked in.
    pub fn for_task(&self, task: &str) -> Self {
        let mut manifest = self.clone();
        let fits = |variant: &&Variant| regex::Regex::new(&variant.task).is_ok_and(|task_is| task_is.is_match(task));
        let Some(variant) = self.variants.iter().find(fits) else {
            return manifest;
        };
        manifest.templates = variant.templates.clone();
        if variant.fallback.is_some() {
            manifest.actions.fallback.clone_from(&variant.fallback);
        }
        if variant.allowed.is_some() {
            manifest.actions.allowed.clone_from(&variant.allowed);
        }
        for (path, text) in &variant.initial {
            if let Some(file) = manifest.files.get_mut(path) {
                file.initial.clone_from(text);
            }
        }
        manifest.vars.extend(variant.vars.clone());
        manifest
    }
}
