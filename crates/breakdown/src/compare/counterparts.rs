//! Names that two recordings give to the same thing: a temporary folder or a port that the system
//! chose is another in each run, and what waits for it would be gone in one and new in the other.
//!
//! Only what is in one recording alone is looked at, and only a pair is joined: when two files of
//! one recording could be the counterpart of one of the other, all keep their own names. So two
//! things of one recording are never one row, which replacing every such name by a pattern could
//! make of them.

use std::collections::{BTreeMap, BTreeSet};

/// Stands for what differs; what is shown has it, too.
const PLACE: &str = "*";
/// Folders of which the next part of a path is a name of its own per run.
const TEMPORARY: [&str; 3] = ["/tmp/", "/var/tmp/", "/dev/shm/"];
/// Linux gives out ports from here on (`net.ipv4.ip_local_port_range`).
const CHOSEN_PORTS: std::ops::RangeInclusive<u32> = 32_768..=65_535;

/// What those names of either recording that have a counterpart in the other are called in both.
pub(crate) fn counterparts<'a>(
    a: &BTreeSet<&'a str>,
    b: &BTreeSet<&'a str>,
) -> BTreeMap<&'a str, String> {
    let [only_a, only_b] = [by_pattern(a, b), by_pattern(b, a)];
    let pairs = only_a.into_iter().filter_map(|(pattern, names)| {
        let others = only_b.get(&pattern)?;
        let ([one], [other]) = (&names[..], &others[..]) else {
            return None;
        };
        Some([(*one, pattern.clone()), (*other, pattern)])
    });
    pairs.flatten().collect()
}

/// Those that `other` does not have, by what they are without their own part.
fn by_pattern<'a>(
    names: &BTreeSet<&'a str>,
    other: &BTreeSet<&'a str>,
) -> BTreeMap<String, Vec<&'a str>> {
    let mut patterns: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for name in names.difference(other) {
        if let Some(pattern) = pattern(name) {
            patterns.entry(pattern).or_default().push(*name);
        }
    }
    patterns
}

/// A name with [`PLACE`] for what is of one run; `None` when nothing is.
fn pattern(name: &str) -> Option<String> {
    without_temporary(name).or_else(|| without_chosen_port(name))
}

/// `fs.open /tmp/shop-Xa83/a.json`, and likewise a location in code.
fn without_temporary(name: &str) -> Option<String> {
    let path = if name.starts_with('/') {
        0
    } else {
        name.find(" /")? + 1
    };
    let root = TEMPORARY
        .iter()
        .find(|root| name[path..].starts_with(*root))?;
    let begin = path + root.len();
    let rest = &name[begin..];
    let end = begin + rest.find('/').unwrap_or(rest.len());
    (end > begin).then(|| format!("{}{PLACE}{}", &name[..begin], &name[end..]))
}

/// `tcp 127.0.0.1:40123`.
fn without_chosen_port(name: &str) -> Option<String> {
    let (host, port) = name.rsplit_once(':')?;
    let is_chosen = port.parse().is_ok_and(|port| CHOSEN_PORTS.contains(&port));
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    (is_chosen && digits && !host.contains('/')).then(|| format!("{host}:{PLACE}"))
}

/// `serialize src/export.ts:88:3` without what an edit above it changes.
pub(crate) fn without_line(location: &str) -> &str {
    let mut rest = location;
    for _ in 0..2 {
        match rest.rsplit_once(':') {
            Some((before, digits))
                if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
            {
                rest = before;
            }
            _ => break,
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(a: &[&'static str], b: &[&'static str]) -> Vec<(&'static str, String)> {
        let [a, b] = [a, b].map(|names| names.iter().copied().collect());
        counterparts(&a, &b).into_iter().collect()
    }

    #[test]
    fn a_temporary_folder_and_a_chosen_port_have_their_counterpart() {
        for (one, other, both) in [
            (
                "fs.open /tmp/s-Xa/a",
                "fs.open /tmp/s-9Q/a",
                "fs.open /tmp/*/a",
            ),
            (
                "fs.open /var/tmp/1",
                "fs.open /var/tmp/2",
                "fs.open /var/tmp/*",
            ),
            ("f /tmp/before/a.js", "f /tmp/after/a.js", "f /tmp/*/a.js"),
            (
                "unix /tmp/1/db.sock",
                "unix /tmp/2/db.sock",
                "unix /tmp/*/db.sock",
            ),
            (
                "tcp 127.0.0.1:40123",
                "tcp 127.0.0.1:39001",
                "tcp 127.0.0.1:*",
            ),
            ("tcp [::1]:40123", "tcp [::1]:39001", "tcp [::1]:*"),
        ] {
            let mut expected = vec![(one, both.to_owned()), (other, both.to_owned())];
            expected.sort();
            assert_eq!(joined(&[one, "dns a"], &["dns a", other]), expected);
        }
    }

    #[test]
    fn what_may_be_another_keeps_its_name() {
        for (a, b) in [
            // There in both.
            (
                vec!["fs.open /tmp/1/a"],
                vec!["fs.open /tmp/1/a", "fs.open /tmp/2/a"],
            ),
            // Which is whose?
            (vec!["tcp h:40001"], vec!["tcp h:40002", "tcp h:40003"]),
            (
                vec!["fs.open /tmp/1/a", "fs.open /tmp/2/a"],
                vec!["fs.open /tmp/3/a"],
            ),
            // Another file, another call, another host, ports that somebody chose.
            (vec!["fs.open /tmp/1/a"], vec!["fs.open /tmp/2/b"]),
            (vec!["fs.open /tmp/1/a"], vec!["fs.read /tmp/2/a"]),
            (vec!["tcp h:40001"], vec!["tcp g:40001"]),
            (vec!["tcp h:5432"], vec!["tcp h:5433"]),
            (vec!["fs.open /data/1/a"], vec!["fs.open /data/2/a"]),
            (vec!["fs.open /tmp/"], vec!["fs.open /var/tmp/"]),
            (vec!["dns shard-1"], vec!["dns shard-2"]),
        ] {
            assert_eq!(joined(&a, &b), []);
        }
    }

    #[test]
    fn a_location_without_its_line_is_the_same_after_an_edit_above() {
        assert_eq!(without_line("f /srv/a.js:88"), "f /srv/a.js");
        assert_eq!(without_line("f /srv/a.js:88:3"), "f /srv/a.js");
        assert_eq!(without_line("node:fs"), "node:fs");
        assert_eq!(without_line("f"), "f");
    }
}
