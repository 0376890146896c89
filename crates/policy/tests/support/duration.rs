//! Durations in drawings.

/// `200us` or `8ms`, in ns.
pub fn ns(text: &str) -> u64 {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let scale = match &text[digits.len()..] {
        "us" => 1_000,
        "ms" => 1_000_000,
        other => panic!("unit {other} in {text}"),
    };
    digits.parse::<u64>().unwrap() * scale
}
