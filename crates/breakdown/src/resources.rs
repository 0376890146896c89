//! Resources of the report: waits for files whose paths differ in identifiers are one row, and so
//! are those for the workers of a pool.
//!
//! A service that reads `product-11.json`, `product-12.json` … would fill the table with rows too
//! small to act on, and of fifteen workers none is the slow one. Only what does differ is replaced:
//! the folder `app2` and the version in `/opt/2.3.1` stay readable, and a file that is alone keeps
//! its whole path.

use crate::names::{Name, Names, Numbered};

/// Names of resources by pattern.
#[derive(Debug, Clone)]
pub(crate) struct Resources {
    patterns: Names,
    /// By number of the pattern.
    rows: Vec<Row>,
}

/// The resources of one pattern.
#[derive(Debug, Clone, Default)]
struct Row {
    /// Identifiers in the places of the pattern; `None` where they differ.
    identifiers: Vec<Option<String>>,
    shown: String,
}

impl Resources {
    /// As `Names::new`.
    pub(crate) fn new(bound: usize) -> Self {
        let patterns = Names::new(bound);
        let other = Row {
            shown: patterns.text(0).into(),
            ..Row::default()
        };
        Self {
            patterns,
            rows: vec![other],
        }
    }

    /// The resource itself, or what several have in common.
    pub(crate) fn text(&self, name: Name) -> &str {
        &self.rows[name as usize].shown
    }
}

impl Numbered for Resources {
    fn number(&mut self, text: &str) -> Name {
        let (pattern, identifiers) = parts(text);
        let name = self.patterns.number(&pattern);
        if name == 0 {
            return name;
        }
        let index = name as usize;
        if index == self.rows.len() {
            let identifiers = identifiers.iter().map(|one| Some((*one).to_owned()));
            self.rows.push(Row {
                identifiers: identifiers.collect(),
                shown: text.into(),
            });
            return name;
        }
        let row = &mut self.rows[index];
        let mut differs = false;
        for (known, one) in row.identifiers.iter_mut().zip(identifiers) {
            differs |= known.take_if(|known| known != one).is_some();
        }
        if differs {
            row.shown = fill(&pattern, &row.identifiers);
        }
        name
    }
}

/// Stands for an identifier; no path has it.
const PLACE: char = '\0';
/// What the agent calls a worker, before its number.
const WORKER: &str = "worker ";
/// Words of this length made of hexadecimal digits are identifiers.
const HEX_LENGTH: usize = 8;

/// `fs.open /data/product-11.json` without its identifiers, and these. Only files and workers: the
/// digits of `127.0.0.1:5432` tell one database from another.
fn parts(resource: &str) -> (String, Vec<&str>) {
    if let Some(number) = resource.strip_prefix(WORKER)
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return (format!("{WORKER}{PLACE}"), vec![number]);
    }
    let path = resource.find(' ').map_or("", |at| &resource[at..]);
    if !resource.starts_with("fs.") || path.is_empty() || resource.contains(PLACE) {
        return (resource.into(), Vec::new());
    }
    let mut pattern = resource[..resource.len() - path.len()].to_owned();
    let mut identifiers = Vec::new();
    for (is_word, word) in runs(path, |c| c.is_ascii_alphanumeric()) {
        if is_word && is_hex_identifier(word) {
            pattern.push(PLACE);
            identifiers.push(word);
            continue;
        }
        for (is_number, piece) in runs(word, |c| c.is_ascii_digit()) {
            if is_number {
                pattern.push(PLACE);
                identifiers.push(piece);
            } else {
                pattern.push_str(piece);
            }
        }
    }
    (pattern, identifiers)
}

fn is_hex_identifier(word: &str) -> bool {
    word.len() >= HEX_LENGTH
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// The text in pieces of characters that are all of the class, or all not.
fn runs(text: &str, class: impl Fn(char) -> bool) -> Vec<(bool, &str)> {
    let mut runs = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let inside = class(first);
        let length = rest.find(|c| class(c) != inside).unwrap_or(rest.len());
        let (run, after) = rest.split_at(length);
        runs.push((inside, run));
        rest = after;
    }
    runs
}

fn fill(pattern: &str, identifiers: &[Option<String>]) -> String {
    let mut identifiers = identifiers.iter();
    let mut text = String::with_capacity(pattern.len() + identifiers.len());
    for character in pattern.chars() {
        match character {
            PLACE => text.push_str(
                identifiers
                    .next()
                    .and_then(Option::as_deref)
                    .unwrap_or(":n"),
            ),
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[&str]) -> Vec<String> {
        let mut resources = Resources::new(10);
        let names: Vec<_> = texts.iter().map(|text| resources.number(text)).collect();
        let texts = names.iter().map(|name| resources.text(*name).to_owned());
        texts.collect()
    }

    #[test]
    fn what_differs_in_paths_of_files_and_workers_becomes_n() {
        for (first, second, expected) in [
            (
                "fs.open /p-11.json",
                "fs.open /p-12.json",
                "fs.open /p-:n.json",
            ),
            (
                "fs.stat app2/größe/1.png",
                "fs.stat app2/größe/22.png",
                "fs.stat app2/größe/:n.png",
            ),
            (
                "fs.read /up/5f3a9c01/a",
                "fs.read /up/77ab01234/a",
                "fs.read /up/:n/a",
            ),
            ("fs.read /1/2/3", "fs.read /1/4/3", "fs.read /1/:n/3"),
            ("worker 3", "worker 14", "worker :n"),
        ] {
            assert_eq!(shown(&[first, second, first]), [expected; 3]);
        }
    }

    #[test]
    fn other_resources_and_single_files_keep_their_names() {
        let texts = [
            "tcp 127.0.0.1:5432",
            "tcp 127.0.0.1:5433",
            "worker 3",
            "dns.lookup db1.example",
            "dns.lookup db2.example",
            "fs.open",
            "fs.open /opt/2.3.1/a.html",
            "fs.read /opt/2.3.1/a.html",
        ];
        assert_eq!(shown(&texts), texts);
    }

    #[test]
    fn resources_beyond_the_bound_are_other() {
        let mut resources = Resources::new(1);
        resources.number("fs.open a");
        let other = resources.number("fs.open b");
        assert_eq!(other, resources.number("fs.open c"));
        assert_eq!(resources.text(other), "(other)");
    }
}
