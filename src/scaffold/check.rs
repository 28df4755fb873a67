//! Everything that cannot work in a scaffold, found without playing a step.

use std::collections::BTreeMap;

use super::error::{ProblemAt, ScaffoldError};
use super::manifest::{self, RawManifest};
use super::templates::{Template, Templates};
use super::vars::{TemplateVars, sample};
use super::{MANIFEST, Scaffold};

/// The script of a scaffold, which this version does not run.
const HOOKS: &str = "hooks.star";

/// All problems of a scaffold's files; none when it can be used.
pub fn check(files: &BTreeMap<String, String>) -> Vec<ProblemAt> {
    let (_, mut problems) = manifest::read(files);
    let (templates, template_problems) = Templates::compile(files);
    let compiled = template_problems.is_empty();
    problems.extend(template_problems);
    if compiled {
        problems.extend(rendering(&templates));
    }
    problems.extend(not_yet(files));
    problems
}

impl Scaffold {
    /// All problems of this scaffold; see [`check`].
    pub fn problems(&self) -> Vec<ProblemAt> {
        check(self.files())
    }
}

fn samples(template: Template) -> Vec<Box<dyn TemplateVars>> {
    match template {
        Template::System => vec![Box::new(sample::system())],
        Template::Log | Template::Plan => sample::steps().into_iter().map(|vars| Box::new(vars) as _).collect(),
        Template::LogContinue | Template::PlanContinue => sample::continues()
            .into_iter()
            .map(|vars| Box::new(vars) as _)
            .collect(),
    }
}

/// Fills every template with each of its samples.
fn rendering(templates: &Templates) -> Vec<ProblemAt> {
    let mut problems: Vec<ProblemAt> = Vec::new();
    for template in Template::ALL {
        for vars in samples(template) {
            let problem = match templates.render(template, vars.as_ref()) {
                Ok(text) if text.trim().is_empty() => ProblemAt::of_file(
                    template.file(),
                    "the template gives an empty prompt",
                    "write something outside of its conditions",
                ),
                Ok(_) => continue,
                Err(ScaffoldError::Render(problem)) => problem,
                Err(other) => ProblemAt::of_file(template.file(), other.to_string(), ""),
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
    if files.contains_key(HOOKS) {
        let hint = "remove it, or play this scaffold with a version that runs hooks";
        problems.push(ProblemAt::of_file(HOOKS, "hooks are not run by this version", hint));
    }
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
