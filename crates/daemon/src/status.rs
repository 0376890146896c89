//! What `/proc/PID/status` says: one field to a line, by its name.

/// The text of a field, without the space around it; none where the kernel does not tell it.
pub fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| {
        let text = line.strip_prefix(name)?.strip_prefix(':')?;
        Some(text.trim())
    })
}

/// How many threads a process has.
pub fn threads(status: &str) -> usize {
    field(status, "Threads")
        .and_then(|count| count.parse().ok())
        .unwrap_or_default()
}
