//! Setting a key in the text of a manifest, so that everything else stays as it was written.

/// The text with a key of a table set to a value; `None` when that cannot be done line by line (the value there goes
/// over several lines, or the text would not be TOML).
pub(super) fn with(text: &str, table: &str, key: &str, value: &str) -> Option<String> {
    let header = format!("[{table}]");
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if let Some(last) = lines.last_mut()
        && !last.ends_with('\n')
    {
        last.push('\n');
    }
    let new = format!("{key} = {value}\n");
    match lines.iter().position(|line| without_comment(line) == header) {
        None => {
            if lines.last().is_some_and(|line| !line.trim().is_empty()) {
                lines.push("\n".to_owned());
            }
            lines.push(format!("{header}\n"));
            lines.push(new);
        }
        Some(start) => {
            let end = lines[start + 1..]
                .iter()
                .position(|line| line.trim_start().starts_with('['))
                .map_or(lines.len(), |at| start + 1 + at);
            let there =
                (start + 1..end).find(|at| lines[*at].split_once('=').is_some_and(|(found, _)| found.trim() == key));
            match there {
                Some(at) => lines[at] = new,
                None => {
                    let mut at = end;
                    while at > start + 1 && is_apart(&lines[at - 1]) {
                        at -= 1;
                    }
                    lines.insert(at, new);
                }
            }
        }
    }
    let text = lines.concat();
    text.parse::<toml::Table>().ok().map(|_| text)
}

/// Blank lines and comments before a table belong to that table.
fn is_apart(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

fn without_comment(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line).trim()
}

/// The name of a file's table.
pub(super) fn file_table(path: &str) -> String {
    format!("files.{}", quoted(path))
}

/// A text as TOML writes it.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A list of texts as TOML writes it.
pub(super) fn list(texts: &[String]) -> String {
    let items: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "# mine\nname = \"a\"\n\n[budgets] # what it may cost\nlog_turns = 3 # few\n\n# the log\n[files.\"a.txt\"]\npolicy = \"append\"\ninitial = \"\"\n\n# the map\n[files.\"b.txt\"]\nabout = \"\"\"\nkey = x\n\"\"\"\n";

    #[test]
    fn a_key_is_set_where_it_belongs() {
        let new = with(TEXT, "files.\"a.txt\"", "max_lines", "200").unwrap();
        assert!(
            new.contains("initial = \"\"\nmax_lines = 200\n\n# the map\n[files.\"b.txt\"]"),
            "{new}"
        );
        let new = with(&new, "files.\"a.txt\"", "max_lines", "100").unwrap();
        assert!(new.contains("max_lines = 100\n") && !new.contains("200"));
        let new = with(&new, "prompt", "inline", &list(&["a.txt".to_owned()])).unwrap();
        assert!(new.ends_with("\n\n[prompt]\ninline = [\"a.txt\"]\n"));
        assert!(new.contains("[budgets] # what it may cost\nlog_turns = 3 # few\n\n# the log\n"));
        assert!(
            with(TEXT, "budgets", "log_turns", "2")
                .unwrap()
                .contains("log_turns = 2\n")
        );
    }

    #[test]
    fn what_cannot_be_done_by_lines_is_left() {
        assert_eq!(with(TEXT, "files.\"b.txt\"", "about", "\"short\""), None);
        assert_eq!(with(TEXT, "files.\"a.txt\"", "policy", "no value"), None);
        assert_eq!(file_table("od\"d.txt"), "files.'od\"d.txt'");
    }

    proptest! {
        #[test]
        fn the_result_is_toml_and_has_the_key(path in "[a-z\"' .]{1,8}", value in 0_u32..1000) {
            let table = file_table(&path);
            if let Some(new) = with(TEXT, &table, "max_lines", &value.to_string()) {
                let read: toml::Table = new.parse().unwrap();
                prop_assert_eq!(read["files"][path.as_str()]["max_lines"].as_integer(), Some(i64::from(value)));
                prop_assert_eq!(read["budgets"]["log_turns"].as_integer(), Some(3));
            }
        }
    }
}
