//! `MODEL@http://host:port/v1`: which model, on which server.
//!
//! Owns how an address is written. Must not connect to it.

use reqwest::Url;

use super::Dialect;

/// A model on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::llm) struct Address {
    /// The model's name there.
    pub(in crate::llm) model: String,
    /// The server's base address, without a slash at its end: `http://host:port/v1`.
    pub(in crate::llm) base: Url,
}

impl Address {
    /// Reads what stands after `openai:`. `default` is the base address of a model that names none.
    pub(in crate::llm) fn parse(text: &str, default: Option<&str>, dialect: &Dialect) -> Result<Self, String> {
        let form = dialect.form;
        // A model's name may hold an `@` itself, and an address too: what begins with a scheme is the address.
        let at = ["@http://", "@https://"]
            .iter()
            .filter_map(|sign| text.find(sign))
            .min();
        let (model, base) = match at {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (
                text,
                default.filter(|base| !base.trim().is_empty()).unwrap_or(dialect.usual),
            ),
        };
        let model = model.trim();
        if model.is_empty() || model.contains("://") {
            return Err(format!("the model's name is missing; write {form}"));
        }
        if model.chars().any(char::is_control) {
            return Err(format!("the model's name has control characters; write {form}"));
        }
        Ok(Self {
            model: model.to_owned(),
            base: base_url(base.trim(), dialect)?,
        })
    }

    /// The address of one of the server's functions, such as `chat/completions`.
    pub(in crate::llm) fn function(&self, path: &str) -> Url {
        with_path(
            &self.base,
            &format!("{}/{path}", self.base.path().trim_end_matches('/')),
        )
    }

    /// The address of something that stands beside `/v1`, such as llama.cpp's `props`.
    pub(in crate::llm) fn beside(&self, path: &str) -> Url {
        let base = self.base.path().trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        with_path(&self.base, &format!("{base}/{path}"))
    }
}

fn with_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url
}

fn base_url(text: &str, dialect: &Dialect) -> Result<Url, String> {
    let form = dialect.form;
    let wrong = |why: &str| format!("the server's address {why}; write {form}");
    let mut url = Url::parse(text).map_err(|error| wrong(&format!("cannot be read ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is neither http nor https"));
    }
    // Whatever stands in an address is recorded with the run.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(&format!(
            "holds a user name or password, which would end up in the record; put a key into {}",
            dialect.keys()
        )));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong(
            "has more behind its path (`?` or `#`), which does not belong there",
        ));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    let path = path.strip_suffix(dialect.function).unwrap_or(&path);
    // A bare host means its ordinary place.
    if path.is_empty() || (dialect.below_v1 && !path.ends_with("/v1")) {
        url.set_path(&format!("{path}/v1"));
    } else {
        url.set_path(path);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{anthropic, openai};

    fn of(text: &str) -> (String, String) {
        let address = Address::parse(text, None, &openai::DIALECT).unwrap();
        (address.model.clone(), address.function("chat/completions").to_string())
    }

    #[test]
    fn addresses_are_read() {
        let cases = [
            ("gpt-x", "gpt-x", "https://api.openai.com/v1/chat/completions"),
            (
                "m@http://localhost:8080",
                "m",
                "http://localhost:8080/v1/chat/completions",
            ),
            (
                "m@http://localhost:8080/",
                "m",
                "http://localhost:8080/v1/chat/completions",
            ),
            ("o/m@r@https://h/api/v1/", "o/m@r", "https://h/api/v1/chat/completions"),
            ("m@http://h/v1/chat/completions", "m", "http://h/v1/chat/completions"),
            ("m@http://[::1]:9/v1", "m", "http://[::1]:9/v1/chat/completions"),
        ];
        for (text, model, url) in cases {
            assert_eq!(of(text), (model.to_owned(), url.to_owned()), "{text}");
        }
        let address = Address::parse("m", Some("http://own:1/v1"), &openai::DIALECT).unwrap();
        assert_eq!(address.function("models").as_str(), "http://own:1/v1/models");
        assert_eq!(address.beside("props").as_str(), "http://own:1/props");
        assert_eq!(
            Address::parse("m", Some(" "), &openai::DIALECT).unwrap().base.as_str(),
            "https://api.openai.com/v1"
        );
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_form() {
        for text in [
            "",
            "@http://h/v1",
            "http://h/v1",
            "m@http://",
            "m@http://user:secret@h/v1",
            "m@http://h/v1?key=secret",
        ] {
            let error = Address::parse(text, None, &openai::DIALECT).unwrap_err();
            assert!(
                error.contains(openai::DIALECT.form) && !error.contains("secret"),
                "{text}: {error}"
            );
        }
        let error = Address::parse("m", Some("ftp://h"), &openai::DIALECT).unwrap_err();
        assert!(error.contains("http"));
    }

    #[test]
    fn each_dialect_has_its_ordinary_place() {
        for (text, url) in [
            ("m", "https://api.anthropic.com/v1/messages"),
            ("m@http://h:1", "http://h:1/v1/messages"),
            ("m@http://h/anthropic", "http://h/anthropic/v1/messages"),
            ("m@http://h/v1/messages", "http://h/v1/messages"),
        ] {
            let address = Address::parse(text, None, &anthropic::DIALECT).unwrap();
            assert_eq!(address.function("messages").as_str(), url, "{text}");
        }
        let error = Address::parse("m@http://user:secret@h", None, &anthropic::DIALECT).unwrap_err();
        assert!(
            error.contains("ANTHROPIC_API_KEY") && !error.contains("secret"),
            "{error}"
        );
    }
}
