//! Where the changes of a text begin and end, before any of them is understood.
//!
//! Not every comma separates two: names of routes and resources have commas and equal signs of
//! their own, and so has a policy.

use super::{POLICY, RESOURCE, ROUTE};

/// Where the policy stands, which is the last of the changes: in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PolicyPlace {
    pub from: usize,
    /// Behind its equal sign.
    pub value_from: usize,
}

/// The policy of a text, if it has one.
pub(crate) fn policy_place(text: &str) -> Option<PolicyPlace> {
    text.match_indices(POLICY).find_map(|(from, _)| {
        let before = text[..from].trim_end();
        let begins = before.is_empty() || before.ends_with(',');
        let behind = &text[from + POLICY.len()..];
        let value = behind.trim_start().strip_prefix('=')?;
        begins.then_some(PolicyPlace {
            from,
            value_from: text.len() - value.len(),
        })
    })
}

/// The text before the policy and the comma before it; nothing where there is only a policy.
pub(super) fn before_policy(text: &str, policy: Option<PolicyPlace>) -> Option<&str> {
    let Some(PolicyPlace { from, .. }) = policy else {
        return Some(text);
    };
    let before = text[..from].trim_end();
    // Without a comma there is nothing before it.
    before.strip_suffix(',')
}

/// The changes of a text with the bytes at which they begin.
pub(super) fn changes(text: &str) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(',') {
        if separates(&text[from..at], &text[at + 1..]) {
            all.push((from, &text[from..at]));
            from = at + 1;
        }
    }
    all.push((from, &text[from..]));
    all
}

/// Whether a comma between these ends a change.
fn separates(before: &str, behind: &str) -> bool {
    let next = behind.split(',').next().unwrap_or("");
    if !next.is_empty() && next.bytes().all(|byte| byte.is_ascii_digit()) {
        // As numbers are written in half of the world: the whole of it is wrong.
        return false;
    }
    if !is_named(before) {
        return true;
    }
    let Some((_, value)) = before.rsplit_once('=') else {
        return false;
    };
    let value = value.trim();
    match value.parse::<f64>() {
        // A path goes on; what else follows a number is a change, though maybe not a known one.
        Ok(number) if number.is_finite() => {
            let name = next.split('=').next().unwrap_or("");
            begins_change(behind) || !name.contains('/')
        }
        _ => !value.contains(['/', '.']) && begins_change(behind),
    }
}

fn is_named(change: &str) -> bool {
    let change = change.trim_start();
    change.starts_with(ROUTE) || change.starts_with(RESOURCE)
}

fn begins_change(rest: &str) -> bool {
    let rest = rest.trim_start();
    let name = rest.split('=').next().unwrap_or("").trim();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_plain = name.len() < rest.len() && name.chars().all(is_word);
    rest.is_empty() || is_named(rest) || is_plain
}
