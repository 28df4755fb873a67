//! Whose hand writes an entry.

/// The user's name as the system tells it, else `person`.
pub fn person() -> String {
    ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|name| !name.trim().is_empty())
        .unwrap_or_else(|| "person".to_owned())
}
