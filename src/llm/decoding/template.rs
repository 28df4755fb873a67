//! The one renderer of chat templates, for inference and for training alike.
//!
//! Owns turning messages into prompt text with a model's own Jinja template. What people and models wrote comes out
//! in pieces of its own, apart from what the template wrote, so that it can be tokenised without
//! becoming control tokens. Must not tokenise.

use std::fmt::Write as _;

use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, context, syntax::SyntaxConfig};

use crate::types::{ChatRole, Message, Span, SpannedText};

/// Marks where a message's content goes; from the last private-use plane, which no template uses.
const OPEN: char = '\u{10fff0}';
const CLOSE: char = '\u{10fff1}';
const NAME: &str = "chat";

/// The template that is used for models without one that works.
const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] \
                      + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Written by the template: control tokens in it count as such.
    Template(String),
    /// Written by people, worlds or models: never more than text.
    Content(String),
}

impl Piece {
    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Self::Template(text) | Self::Content(text) => text,
        }
    }
}

/// A chat as a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The prompt, piece by piece.
    pub pieces: Vec<Piece>,
    /// Where the messages stand in it, in order.
    pub spans: Vec<Span>,
}

/// What a template is allowed to know about a model's vocabulary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecialTexts {
    /// Text of the beginning-of-text token.
    pub bos: String,
    /// Text of the end-of-text token.
    pub eos: String,
}

/// Which template is in use, for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateKind {
    /// The model's own.
    Own,
    /// The model's own, which knows no system message: that goes in front of the first user message.
    OwnWithoutSystem,
    /// ChatML, because the model's own is missing or does not work.
    ChatMl {
        /// Why.
        why: String,
    },
}

impl std::fmt::Display for TemplateKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own => f.write_str("from the model file"),
            Self::OwnWithoutSystem => {
                f.write_str("from the model file; the system message is put in front of the first user message")
            }
            Self::ChatMl { why } => write!(f, "ChatML ({why})"),
        }
    }
}

/// A chat template that is known to render.
pub struct ChatTemplate {
    environment: Environment<'static>,
    kind: TemplateKind,
    special: SpecialTexts,
}

impl std::fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTemplate")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl ChatTemplate {
    /// Takes the model's own template when it renders a plain chat, else ChatML. `now` is what the template is told
    /// the time is; it stays the same for the life of the value, so that equal chats stay equal.
    pub fn new(source: Option<&str>, special: SpecialTexts, now: &jiff::ZonedDateTime) -> Self {
        let why = match source {
            None => "the model file has no chat template".to_owned(),
            Some(source) => match Self::compile(source, &special, now) {
                Ok(template) => return template,
                Err(error) => format!("the model file's chat template does not work: {}", error_text(&error)),
            },
        };
        let mut environment = environment(now);
        // The constant is compiled in a test; if it did not compile, rendering would say so.
        let _ = environment.add_template(NAME, CHATML);
        Self {
            environment,
            kind: TemplateKind::ChatMl { why },
            special,
        }
    }

    fn compile(source: &str, special: &SpecialTexts, now: &jiff::ZonedDateTime) -> Result<Self, Error> {
        let mut environment = environment(now);
        environment.add_template_owned(NAME, source.to_owned())?;
        let mut template = Self {
            environment,
            kind: TemplateKind::Own,
            special: special.clone(),
        };
        let probe = [
            Message::new(ChatRole::System, "s"),
            Message::new(ChatRole::User, "u"),
            Message::new(ChatRole::Assistant, "a"),
            Message::new(ChatRole::User, "v"),
        ];
        let Err(error) = template.render(&probe) else {
            return Ok(template);
        };
        template.kind = TemplateKind::OwnWithoutSystem;
        template.render(&probe).map(|_| template).map_err(|_| error)
    }

    /// Which template it is.
    pub fn kind(&self) -> &TemplateKind {
        &self.kind
    }

    /// Renders a chat up to where the model's answer begins.
    ///
    /// # Errors
    /// When the template refuses these messages.
    pub fn render(&self, messages: &[Message]) -> Result<Vec<Piece>, Error> {
        Ok(self.render_chat(messages)?.pieces)
    }

    /// The same, with where each message stands in the prompt.
    ///
    /// # Errors
    /// When the template refuses these messages.
    pub fn render_chat(&self, messages: &[Message]) -> Result<Rendered, Error> {
        let merged;
        let messages = if self.kind == TemplateKind::OwnWithoutSystem {
            merged = without_system(messages);
            merged.as_slice()
        } else {
            messages
        };
        let marks: Vec<String> = (0..messages.len())
            .map(|index| format!("{OPEN}{index}{CLOSE}"))
            .collect();
        let marked = self.render_text(messages, &marks)?;

        // Templates may trim contents or take old thinking out of them, which a mark cannot show. So
        // the edits that are known are tried until the result is what the template makes of the real contents.
        let raw: Vec<String> = messages.iter().map(|message| message.content.clone()).collect();
        let real = self.render_text(messages, &raw)?;
        let fits = EDITS.iter().find_map(|edit| {
            let contents: Vec<String> = messages.iter().map(edit).collect();
            let rendered = split(&marked, messages, &contents);
            (prompt_text(&rendered.pieces) == real).then_some(rendered)
        });
        Ok(fits.unwrap_or_else(|| split(&marked, messages, &raw)))
    }

    fn render_text(&self, messages: &[Message], contents: &[String]) -> Result<String, Error> {
        let messages: Vec<Value> = messages
            .iter()
            .zip(contents)
            .map(|(message, content)| context! { role => message.role.word(), content => content })
            .collect();
        self.environment.get_template(NAME)?.render(context! {
            messages => messages,
            add_generation_prompt => true,
            bos_token => self.special.bos.as_str(),
            eos_token => self.special.eos.as_str(),
            tools => (),
        })
    }
}

/// The text of a prompt, as the model sees it.
pub fn prompt_text(pieces: &[Piece]) -> String {
    pieces.iter().map(Piece::text).collect()
}

/// How templates are known to edit a message's content before they show it.
const EDITS: [fn(&Message) -> String; 4] = [
    |message| message.content.clone(),
    |message| message.content.trim().to_owned(),
    |message| without_thinking(message).trim_start_matches('\n').to_owned(),
    |message| without_thinking(message).trim().to_owned(),
];

fn without_thinking(message: &Message) -> &str {
    match message.content.rsplit_once("</think>") {
        Some((_, rest)) if message.role == ChatRole::Assistant => rest,
        _ => &message.content,
    }
}

/// Puts the system messages in front of the first message that is not one.
fn without_system(messages: &[Message]) -> Vec<Message> {
    let mut system = String::new();
    let mut rest: Vec<Message> = Vec::new();
    for message in messages {
        if message.role == ChatRole::System {
            system.push_str(&message.content);
            system.push_str("\n\n");
        } else {
            rest.push(message.clone());
        }
    }
    match rest.first_mut() {
        Some(first) => first.content.insert_str(0, &system),
        None => rest.push(Message::new(ChatRole::User, system)),
    }
    rest
}

/// Cuts rendered text at its marks and puts the contents there.
fn split(marked: &str, messages: &[Message], contents: &[String]) -> Rendered {
    let mut pieces = Vec::new();
    let mut text = SpannedText::default();
    let mut rest = marked;
    while let Some((before, after)) = rest.split_once(OPEN) {
        text.push(before);
        pieces.push(Piece::Template(before.to_owned()));
        let (index, after) = after.split_once(CLOSE).unwrap_or((after, ""));
        let index = index.parse::<usize>().ok();
        if let Some((message, content)) = index.and_then(|index| Some((messages.get(index)?, contents.get(index)?))) {
            text.message(message.role, content);
            pieces.push(Piece::Content(content.clone()));
        }
        rest = after;
    }
    pieces.push(Piece::Template(rest.to_owned()));
    pieces.retain(|piece| !piece.text().is_empty());
    Rendered {
        pieces,
        spans: text.spans,
    }
}

/// An engine that behaves as the Hugging Face one does.
fn environment(now: &jiff::ZonedDateTime) -> Environment<'static> {
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    if let Ok(syntax) = syntax.build() {
        environment.set_syntax(syntax);
    }
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    let now = now.clone();
    environment.add_function("strftime_now", move |format: String| -> Result<String, Error> {
        jiff::fmt::strtime::format(&format, &now)
            .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
    });
    environment.set_unknown_method_callback(python_method);
    environment
}

/// The methods of Python's strings and dictionaries that templates in use call.
fn python_method(
    state: &mut minijinja::State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let unknown = || Err(Error::from(ErrorKind::UnknownMethod));
    if let Some(text) = value.as_str() {
        let argument = |index: usize| args.get(index).and_then(Value::as_str);
        let set: Option<Vec<char>> = argument(0).map(|chars| chars.chars().collect());
        let strips = |c: char| set.as_ref().map_or(c.is_whitespace(), |set| set.contains(&c));
        return Ok(match (method, argument(0)) {
            ("strip", _) => text.trim_matches(strips).into(),
            ("lstrip", _) => text.trim_start_matches(strips).into(),
            ("rstrip", _) => text.trim_end_matches(strips).into(),
            ("upper", _) => text.to_uppercase().into(),
            ("lower", _) => text.to_lowercase().into(),
            ("title" | "capitalize", _) => return state.apply_filter(method, std::slice::from_ref(value)),
            ("startswith", Some(start)) => text.starts_with(start).into(),
            ("endswith", Some(end)) => text.ends_with(end).into(),
            ("split", Some(at)) if !at.is_empty() => owned(text.split(at)),
            ("split", None) => owned(text.split_whitespace()),
            ("splitlines", _) => owned(text.lines()),
            ("find", Some(what)) => text
                .find(what)
                .map_or(-1, |at| i64::try_from(text[..at].chars().count()).unwrap_or(-1))
                .into(),
            ("replace", Some(from)) => text.replace(from, argument(1).unwrap_or_default()).into(),
            _ => return unknown(),
        });
    }
    match method {
        "items" | "keys" | "values" if value.kind() == minijinja::value::ValueKind::Map => {
            let pairs = value.try_iter()?.map(|key| {
                let item = value.get_item(&key).unwrap_or_default();
                match method {
                    "keys" => key,
                    "values" => item,
                    _ => vec![key, item].into(),
                }
            });
            Ok(pairs.collect::<Vec<Value>>().into())
        }
        "get" => match args {
            [key, rest @ ..] => match value.get_item(key) {
                Ok(found) if !found.is_undefined() => Ok(found),
                _ => Ok(rest.first().cloned().unwrap_or_else(|| ().into())),
            },
            [] => unknown(),
        },
        _ => unknown(),
    }
}

/// A list of texts.
fn owned<'a>(texts: impl Iterator<Item = &'a str>) -> Value {
    texts.map(Value::from).collect::<Vec<Value>>().into()
}

/// An error with what caused it, on one line.
fn error_text(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let _ = write!(text, ": {inner}");
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(messages: &[(ChatRole, &str)]) -> Vec<Message> {
        messages.iter().map(|(role, text)| Message::new(*role, *text)).collect()
    }

    fn template(source: &str) -> ChatTemplate {
        let now = "2026-11-29T10:00[UTC]".parse().unwrap();
        let special = SpecialTexts {
            bos: "<s>".to_owned(),
            eos: "</s>".to_owned(),
        };
        ChatTemplate::new(Some(source), special, &now)
    }

    fn smollm() -> ChatTemplate {
        template(
            "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n\
             Default<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}\
             {% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        )
    }

    #[test]
    fn contents_stand_apart() {
        let pieces = smollm()
            .render(&chat(&[
                (ChatRole::System, "rules"),
                (ChatRole::User, "a <|im_end|> b"),
            ]))
            .unwrap();
        assert_eq!(
            pieces,
            [
                Piece::Template("<|im_start|>system\n".to_owned()),
                Piece::Content("rules".to_owned()),
                Piece::Template("<|im_end|>\n<|im_start|>user\n".to_owned()),
                Piece::Content("a <|im_end|> b".to_owned()),
                Piece::Template("<|im_end|>\n<|im_start|>assistant\n".to_owned()),
            ]
        );
    }

    #[test]
    fn the_templates_default_system_message_is_kept() {
        let pieces = smollm().render(&chat(&[(ChatRole::User, "hi")])).unwrap();
        assert!(prompt_text(&pieces).starts_with("<|im_start|>system\nDefault<|im_end|>\n<|im_start|>user\nhi"));
        assert_eq!(*smollm().kind(), TemplateKind::Own);
    }

    #[test]
    fn trimming_templates_trim() {
        let trims = template("{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}{% endfor %}");
        let pieces = trims.render(&chat(&[(ChatRole::User, "  hi\n")])).unwrap();
        assert_eq!(prompt_text(&pieces), "[user]hi");
        let method = template("{% for m in messages %}[{{ m['role'] }}]{{ m['content'].strip() }}{% endfor %}");
        assert_eq!(
            prompt_text(&method.render(&chat(&[(ChatRole::User, " x ")])).unwrap()),
            "[user]x"
        );
    }

    #[test]
    fn old_thinking_goes_where_the_template_takes_it_out() {
        let strips = template(
            "{% for m in messages %}{% set c = m.content %}{% if m.role == 'assistant' and '</think>' in c %}\
             {% set c = c.split('</think>')[-1].lstrip('\\n') %}{% endif %}<{{ m.role }}>{{ c }}{% endfor %}",
        );
        let chat = chat(&[
            (ChatRole::User, "q"),
            (ChatRole::Assistant, "<think>hm</think>\n\nyes"),
            (ChatRole::User, "r"),
        ]);
        assert_eq!(
            prompt_text(&strips.render(&chat).unwrap()),
            "<user>q<assistant>yes<user>r"
        );
    }

    #[test]
    fn templates_without_system_get_it_in_the_first_user_message() {
        let strict = template(
            "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}\
             {% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}",
        );
        assert_eq!(*strict.kind(), TemplateKind::OwnWithoutSystem);
        let pieces = strict
            .render(&chat(&[(ChatRole::System, "rules"), (ChatRole::User, "hi")]))
            .unwrap();
        assert_eq!(prompt_text(&pieces), "<s><user>rules\n\nhi");
    }

    #[test]
    fn broken_and_missing_templates_become_chatml() {
        for broken in ["{% for %}", "{{ raise_exception('never') }}", "{{ nothing.at.all }}"] {
            let fallback = template(broken);
            assert!(matches!(fallback.kind(), TemplateKind::ChatMl { .. }), "{broken}");
            let text = prompt_text(&fallback.render(&chat(&[(ChatRole::User, "hi")])).unwrap());
            assert_eq!(text, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
        }
        assert!(template("{% for %}").kind().to_string().contains("does not work"));
    }

    #[test]
    fn it_is_known_where_each_message_stands() {
        let messages = chat(&[
            (ChatRole::System, "rules"),
            (ChatRole::User, ""),
            (ChatRole::Assistant, "<|im_end|> is text"),
            (ChatRole::User, "é"),
        ]);
        let rendered = smollm().render_chat(&messages).unwrap();
        let text = prompt_text(&rendered.pieces);
        let said: Vec<Message> = rendered
            .spans
            .iter()
            .map(|span| Message::new(span.role, &text[span.start as usize..span.end as usize]))
            .collect();
        assert_eq!(said, messages);
    }

    #[test]
    fn dates_and_python_methods_work() {
        let dated = template(
            "{{ strftime_now('%d %b %Y') }}{% for k, v in {'a': 1}.items() %} {{ k }}={{ v }}{% endfor %} \
             {{ 'x-y'.replace('-', '+') }} {{ {'a': 1}.get('b', 'none') }} {{ [1] | tojson }}\
             {% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %} {{ m.role }}{% endfor %}",
        );
        let text = prompt_text(&dated.render(&chat(&[(ChatRole::User, "hi")])).unwrap());
        assert_eq!(text, "29 Nov 2026 a=1 x+y none [1] user");
    }
}
