//! Everything that cannot work in a scaffold, found without playing a step.

use std::collections::BTreeMap;

use super::error::{ProblemAt, ScaffoldError};
use super::hooks::{self, HOOKS};
use super::library::foreign;
use super::manifest::{self, Manifest, RawManifest};
use super::templates::{FOLDER, Template, Templates};
use super::vars::{ConsultedVars, OwnVars, TemplateVars, sample};
use super::{MANIFEST, Scaffold};
use crate::types::Phase;

/// All problems of a scaffold's files that can be found without running anything.
pub fn check(files: &BTreeMap<String, String>) -> Vec<ProblemAt> {
    if files.keys().any(|path| path.ends_with(".py"))
        && let Some(what) = foreign(files)
    {
        let hint = "`automem scaffold show` and `diff` read it; `automem scaffold new` begins one that runs";
        return vec![ProblemAt::of_file(MANIFEST, format!("this is {what}"), hint)];
    }
    let (manifest, mut problems) = manifest::read(files);
    let own = own_names(manifest.as_ref());
    let (templates, template_problems) = Templates::compile(files, &own);
    let compiled = template_problems.is_empty();
    problems.extend(template_problems);
    if let Some(manifest) = &manifest {
        problems.extend(missing_templates(manifest, files));
        problems.extend(without_script(manifest, files));
        if compiled && problems.is_empty() {
            problems.extend(rendering(&templates, manifest));
        }
    }
    if let Some(script) = files.get(HOOKS) {
        problems.extend(hooks::lint(script));
    }
    problems.extend(not_yet(files));
    problems
}

/// The names of the scaffold's own variables.
pub(super) fn own_names(manifest: Option<&Manifest>) -> Vec<&str> {
    manifest.map_or_else(Vec::new, |manifest| manifest.vars.keys().map(String::as_str).collect())
}

/// Templates that the manifest names and the folder does not have.
pub(super) fn missing_templates(manifest: &Manifest, files: &BTreeMap<String, String>) -> Vec<ProblemAt> {
    let named = manifest.prompt.when.iter().map(|when| &when.template);
    let variants = manifest.variants.iter().flat_map(|variant| variant.templates.values());
    named
        .chain(variants)
        .filter(|file| !files.contains_key(&format!("{FOLDER}{file}")))
        .map(|file| {
            let hint = format!("write {FOLDER}{file}, or name a template that is there");
            ProblemAt::of_file(MANIFEST, format!("there is no template `{file}`"), hint)
        })
        .collect()
}

/// Operations that nothing carries out.
fn without_script(manifest: &Manifest, files: &BTreeMap<String, String>) -> Option<ProblemAt> {
    let op = manifest.custom_ops.first()?;
    (!files.contains_key(HOOKS)).then(|| {
        ProblemAt::of_file(
            MANIFEST,
            format!("nothing carries out the operation {}", op.syntax.name),
            format!("write {HOOKS} with a function hook(state, event) that answers its events of kind `op`"),
        )
    })
}

impl Scaffold {
    /// All problems of this scaffold; see [`check`].
    pub fn problems(&self) -> Vec<ProblemAt> {
        check(self.files())
    }
}

fn samples(template: Template, own: &OwnVars) -> Vec<Box<dyn TemplateVars>> {
    match template {
        Template::System => vec![Box::new(sample::system())],
        Template::Log | Template::Plan => sample::steps(own).into_iter().map(|vars| Box::new(vars) as _).collect(),
        Template::Consulted => vec![Box::new(ConsultedVars::default())],
        Template::LogContinue | Template::PlanContinue | Template::Handoff => sample::continues(own)
            .into_iter()
            .map(|vars| Box::new(vars) as _)
            .collect(),
    }
}

/// Fills every template with each of its samples, those of variants and conditions too.
fn rendering(templates: &Templates, manifest: &Manifest) -> Vec<ProblemAt> {
    let mut own = OwnVars::default();
    manifest.vars.iter().for_each(|(name, value)| own.set(name, value));
    let usual = Template::every().map(|template| (template, &template.file()[FOLDER.len()..]));
    let when = manifest.prompt.when.iter().map(|when| {
        let template = match when.phase {
            Phase::Log => Template::Log,
            Phase::Plan => Template::Plan,
        };
        (template, when.template.as_str())
    });
    let variants = manifest.variants.iter().flat_map(|variant| {
        variant
            .templates
            .iter()
            .map(|(template, file)| (*template, file.as_str()))
    });
    let mut problems: Vec<ProblemAt> = Vec::new();
    for (template, file) in usual.chain(when).chain(variants) {
        for vars in samples(template, &own) {
            let problem = match templates.render(template, file, vars.as_ref()) {
                Ok(text) if text.trim().is_empty() => ProblemAt::of_file(
                    &format!("{FOLDER}{file}"),
                    "the template gives an empty prompt",
                    "write something outside of its conditions",
                ),
                Ok(_) => continue,
                Err(ScaffoldError::Render(problem)) => problem,
                Err(other) => ProblemAt::of_file(&format!("{FOLDER}{file}"), other.to_string(), ""),
            };
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    problems
}

/// What the format knows but this version does not carry out: better said than silently left undone.
fn not_yet(files: &BTreeMap<String, String>) -> Vec<ProblemAt> {
    let mut problems = Vec::new();
    let Some((text, raw)) = files
        .get(MANIFEST)
        .and_then(|text| Some((text, toml::from_str::<RawManifest>(text).ok()?)))
    else {
        return problems;
    };
    for file in raw.files.values() {
        if let Some(retention) = &file.retention
            && matches!(retention.get_ref().as_str(), "session" | "persistent")
        {
            problems.push(ProblemAt::at(
                MANIFEST,
                text,
                retention.span().start,
                format!("retention `{}` is not carried out by this version", retention.get_ref()),
                "every episode starts with the initial text: write retention = \"episode\"",
            ));
        }
    }
    problems
}
