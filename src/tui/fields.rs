//! The fields of a dialog: what is typed and chosen in each, and which one is written in.
//!
//! Owns editing; what fields mean is each dialog's. Must not start anything.

use std::marker::PhantomData;

use super::keymap::Action;
use super::overlay::erase_word;

/// A field of a dialog.
pub(crate) trait Field: Copy + 'static {
    /// All fields of the dialog, from top to bottom.
    const ALL: &'static [Self];

    /// Its place among them.
    fn place(self) -> usize;

    /// Its name.
    fn name(self) -> &'static str;

    /// What may be written.
    fn about(self) -> &'static str;

    /// By how much the arrows change a number.
    fn step(self) -> i64 {
        1
    }

    /// The least number that the arrows lead to.
    fn least(self) -> u64 {
        1
    }
}

/// How much is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Erase {
    /// A letter.
    Letter,
    /// A word.
    Word,
    /// All.
    All,
}

/// The texts of a dialog's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fields<F> {
    texts: Vec<String>,
    /// The field that is written in.
    pub(crate) at: usize,
    /// What is wrong, and what to do.
    pub(crate) error: Option<String>,
    of: PhantomData<F>,
}

impl<F: Field> Fields<F> {
    /// Fields with these texts, in order.
    pub(crate) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<String> = texts.into_iter().collect();
        texts.resize(F::ALL.len(), String::new());
        Self {
            texts,
            at: 0,
            error: None,
            of: PhantomData,
        }
    }

    /// The text of a field.
    pub(crate) fn text(&self, field: F) -> &str {
        self.texts.get(field.place()).map_or("", String::as_str)
    }

    /// The text of a field without blanks around it.
    pub(crate) fn trimmed(&self, field: F) -> &str {
        self.text(field).trim()
    }

    /// Puts a text into a field.
    pub(crate) fn set(&mut self, field: F, text: &str) {
        if let Some(own) = self.texts.get_mut(field.place()) {
            text.clone_into(own);
        }
    }

    /// The field that is written in.
    pub(crate) fn field(&self) -> F {
        F::ALL[self.at.min(F::ALL.len() - 1)]
    }

    /// Moves to another field.
    pub(crate) fn go(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(F::ALL.len() - 1);
    }

    /// The next of these choices; without any a number that is larger or smaller.
    pub(crate) fn choose(&mut self, by: i32, choices: &[String]) {
        self.error = None;
        let field = self.field();
        let Some(text) = self.texts.get_mut(field.place()) else {
            return;
        };
        if choices.is_empty() {
            if let Ok(number) = text.trim().parse::<u64>() {
                let number = number.saturating_add_signed(i64::from(by) * field.step());
                *text = number.max(field.least()).to_string();
            }
            return;
        }
        let count = choices.len() as i64;
        let next = match choices.iter().position(|choice| choice == text) {
            Some(at) => (at as i64 + i64::from(by)).rem_euclid(count),
            None => 0,
        };
        text.clone_from(&choices[next as usize]);
    }

    /// A letter is typed.
    pub(crate) fn write(&mut self, c: char) {
        self.error = None;
        let at = self.field().place();
        if let Some(text) = self.texts.get_mut(at) {
            text.push(c);
        }
    }

    /// A letter, a word or all of it is erased.
    pub(crate) fn erase(&mut self, how: Erase) {
        self.error = None;
        let at = self.field().place();
        let Some(text) = self.texts.get_mut(at) else {
            return;
        };
        match how {
            Erase::Letter => drop(text.pop()),
            Erase::Word => erase_word(text),
            Erase::All => text.clear(),
        }
    }

    /// Moves between fields and erases.
    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Up => self.go(-1),
            Action::Down => self.go(1),
            Action::Erase => self.erase(Erase::Letter),
            Action::EraseWord => self.erase(Erase::Word),
            Action::EraseAll => self.erase(Erase::All),
            _ => {}
        }
    }

    /// What is written in a field that must not be empty.
    pub(crate) fn given(&self, field: F) -> Result<String, (F, String)> {
        match self.trimmed(field) {
            "" => Err((field, format!("{} is empty: {}", field.name(), field.about()))),
            text => Ok(text.to_owned()),
        }
    }

    /// The number in a field, from 1 to `most`.
    pub(crate) fn number(&self, field: F, most: u32) -> Result<u32, (F, String)> {
        let text = self.given(field)?;
        match text.parse::<u32>() {
            Ok(number) if (1..=most).contains(&number) => Ok(number),
            _ => Err((field, format!("`{text}` is no number from 1 to {most}"))),
        }
    }

    /// What was made of the fields; what cannot be is said in `error`, at its field.
    pub(crate) fn settled<T>(&mut self, made: Result<T, (F, String)>) -> Option<T> {
        self.error = None;
        match made {
            Ok(made) => Some(made),
            Err((field, error)) => {
                self.at = field.place();
                self.error = Some(error);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum One {
        Name,
        Count,
    }

    impl Field for One {
        const ALL: &'static [Self] = &[Self::Name, Self::Count];

        fn place(self) -> usize {
            self as usize
        }

        fn name(self) -> &'static str {
            match self {
                Self::Name => "name",
                Self::Count => "count",
            }
        }

        fn about(self) -> &'static str {
            "something"
        }

        fn step(self) -> i64 {
            10
        }
    }

    #[test]
    fn what_is_typed_chosen_and_wrong_stays_in_its_field() {
        let mut fields = Fields::new(["b".to_owned()]);
        let choices = ["a".to_owned(), "b".to_owned()];
        fields.choose(1, &choices);
        assert_eq!(fields.text(One::Name), "a");
        fields.choose(-1, &choices);
        assert_eq!(fields.text(One::Name), "b");
        fields.go(5);
        assert_eq!(fields.field(), One::Count);
        assert_eq!(fields.given(One::Count).unwrap_err().1, "count is empty: something");
        "15".chars().for_each(|c| fields.write(c));
        fields.choose(-1, &[]);
        assert_eq!(fields.number(One::Count, 9), Ok(5));
        fields.choose(-1, &[]);
        assert_eq!(fields.text(One::Count), "1");
        fields.go(-1);
        fields.erase(Erase::Word);
        assert_eq!(fields.text(One::Name), "");
        let wrong: Option<()> = fields.settled(Err((One::Count, "no".to_owned())));
        assert_eq!((wrong, fields.at, fields.error.as_deref()), (None, 1, Some("no")));
    }
}
