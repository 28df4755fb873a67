//! Arguments of a tool call: read with words that a model can mend them by.
//!
//! Owns what may be written for an argument, and its JSON schema. Must not know what the tools do.

use serde_json::{Map, Value, json};

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number from 0.
    Number,
    /// A list of steps with notes.
    Evidence,
    /// True or false.
    Truth,
}

/// An argument of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Arg {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// It must be given.
    pub needed: bool,
    /// What it means, for the model.
    pub about: &'static str,
}

/// An argument that must be given.
pub const fn needed(name: &'static str, kind: Kind, about: &'static str) -> Arg {
    Arg {
        name,
        kind,
        needed: true,
        about,
    }
}

/// One that may be left out.
pub const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Arg {
    Arg {
        name,
        kind,
        needed: false,
        about,
    }
}

/// The JSON schema of arguments.
pub fn schema(args: &[Arg]) -> Value {
    let mut properties = Map::new();
    for arg in args {
        let mut schema = match arg.kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Number => json!({ "type": "integer", "minimum": 0 }),
            Kind::Truth => json!({ "type": "boolean" }),
            Kind::Evidence => json!({
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "run": { "type": "integer", "minimum": 0 },
                        "episode": { "type": "integer", "minimum": 0 },
                        "step": { "type": "integer", "minimum": 0 },
                        "note": { "type": "string" },
                    },
                    "required": ["episode", "step", "note"],
                },
            }),
        };
        schema["description"] = arg.about.into();
        properties.insert(arg.name.to_owned(), schema);
    }
    let needed: Vec<&str> = args.iter().filter(|arg| arg.needed).map(|arg| arg.name).collect();
    json!({ "type": "object", "properties": properties, "required": needed })
}

/// The arguments of a call.
#[derive(Debug)]
pub struct Args<'a>(&'a Map<String, Value>);

impl<'a> Args<'a> {
    /// Looks over what came.
    ///
    /// # Errors
    /// What is wrong, for the model.
    pub fn read(value: &'a Value, known: &[Arg]) -> Result<Self, String> {
        let forms = || {
            let names: Vec<&str> = known.iter().map(|arg| arg.name).collect();
            match names.is_empty() {
                true => "it takes none: {}".to_owned(),
                false => format!("it takes an object with {}", names.join(", ")),
            }
        };
        let Value::Object(map) = value else {
            return Err(format!(
                "The arguments are no JSON object ({}). Call it again.",
                forms()
            ));
        };
        if let Some(name) = map.keys().find(|name| known.iter().all(|arg| arg.name != **name)) {
            return Err(format!("There is no argument `{name}`; {}.", forms()));
        }
        if let Some(arg) = known
            .iter()
            .find(|arg| arg.needed && map.get(arg.name).is_none_or(Value::is_null))
        {
            return Err(format!("The argument `{}` is missing: {}.", arg.name, arg.about));
        }
        Ok(Self(map))
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A text; empty when it is left out.
    ///
    /// # Errors
    /// What is wrong, for the model.
    pub fn text(&self, name: &str) -> Result<&'a str, String> {
        match self.get(name) {
            None => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(format!("The argument `{name}` must be a text.")),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// What is wrong, for the model.
    pub fn number(&self, name: &str) -> Result<Option<u32>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = match value {
            // Some models write numbers as texts.
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64().and_then(|number| u32::try_from(number).ok()),
        };
        let wrong = || format!("The argument `{name}` must be a whole number from 0; it was {value}.");
        number.map(Some).ok_or_else(wrong)
    }

    /// Yes or no; `None` when it is left out.
    ///
    /// # Errors
    /// What is wrong, for the model.
    pub fn truth(&self, name: &str) -> Result<Option<bool>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            // Some models write them as texts.
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(value) => Err(format!("The argument `{name}` must be true or false; it was {value}.")),
        }
    }

    /// A list of objects.
    ///
    /// # Errors
    /// What is wrong, for the model.
    pub fn list(&self, name: &str) -> Result<Vec<&'a Map<String, Value>>, String> {
        let wrong = || format!("The argument `{name}` must be a list of objects.");
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_object().ok_or_else(wrong)).collect(),
            Some(_) => Err(wrong()),
        }
    }

    /// The same in a few words, for people.
    pub fn short(value: &Value) -> String {
        const LONGEST: usize = 60;
        let Value::Object(map) = value else {
            return "(no arguments)".to_owned();
        };
        let one = |(name, value): (&String, &Value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Array(items) => format!("{} of them", items.len()),
                other => other.to_string(),
            };
            let line = text.lines().next().unwrap_or_default();
            let short: String = line.chars().take(LONGEST).collect();
            match short.len() < text.len() {
                true => format!("{name}={short}…"),
                false => format!("{name}={short}"),
            }
        };
        map.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGS: &[Arg] = &[
        needed("path", Kind::Text, "which file"),
        optional("step", Kind::Number, "which step"),
        optional("evidence", Kind::Evidence, "where it shows"),
    ];

    #[test]
    fn good_arguments_are_read() {
        let value = json!({"path": "a", "step": "7", "evidence": [{"episode": 0}]});
        let args = Args::read(&value, ARGS).unwrap();
        assert_eq!((args.text("path"), args.number("step")), (Ok("a"), Ok(Some(7))));
        assert_eq!(args.list("evidence").unwrap().len(), 1);
        let value = json!({"path": "a", "step": null});
        assert_eq!(Args::read(&value, ARGS).unwrap().number("step"), Ok(None));
    }

    #[test]
    fn bad_ones_are_told_with_what_is_wanted() {
        for (value, said) in [
            (json!("{\"path\": "), "no JSON object"),
            (json!([]), "no JSON object"),
            (json!({}), "`path` is missing"),
            (json!({"path": "a", "stepp": 1}), "no argument `stepp`"),
        ] {
            let error = Args::read(&value, ARGS).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let value = json!({"path": 7, "step": -1, "evidence": [1]});
        let args = Args::read(&value, ARGS).unwrap();
        assert!(args.text("path").is_err() && args.list("evidence").is_err());
        assert!(args.number("step").unwrap_err().contains("-1"));
    }

    #[test]
    fn the_schema_names_what_is_needed() {
        let schema = schema(ARGS);
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(schema["properties"]["step"]["type"], "integer");
        assert_eq!(Args::short(&json!({"path": "x\ny", "n": 3})), "path=x… n=3");
    }
}
