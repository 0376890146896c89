//! Resources of the report: waits for files whose paths differ in an identifier are one row.
//!
//! A service that reads `product-11.json`, `product-12.json` … would fill the table with rows too
//! small to act on. A pattern stands for them, but only where there are several: the path of a
//! file that every request reads stays whole, digits and all.

use crate::names::{Name, Names, Numbered};

/// Names of resources by pattern.
#[derive(Debug, Clone)]
pub(crate) struct Resources {
    patterns: Names,
    /// By number of the pattern: the one resource it stands for, while it is one.
    sole: Vec<Option<String>>,
}

impl Resources {
    /// As `Names::new`.
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            patterns: Names::new(bound),
            sole: vec![None],
        }
    }

    /// The resource itself, or the pattern of several.
    pub(crate) fn text(&self, name: Name) -> &str {
        match self.sole.get(name as usize) {
            Some(Some(resource)) => resource,
            _ => self.patterns.text(name),
        }
    }
}

impl Numbered for Resources {
    fn number(&mut self, text: &str) -> Name {
        let name = self.patterns.number(&pattern(text));
        let index = name as usize;
        if index == self.sole.len() {
            self.sole.push(Some(text.into()));
        } else if self.sole[index].as_deref().is_some_and(|one| one != text) {
            self.sole[index] = None;
        }
        name
    }
}

/// Words of this length made of hexadecimal digits are identifiers.
const IDENTIFIER_LENGTH: usize = 8;

/// `fs.open /data/product-11.json` → `fs.open /data/product-:n.json`. Only files: the digits of
/// `127.0.0.1:5432` tell one database from another.
fn pattern(resource: &str) -> String {
    let Some((operation, path)) = resource.split_once(' ') else {
        return resource.into();
    };
    if !operation.starts_with("fs.") {
        return resource.into();
    }
    let mut pattern = format!("{operation} ");
    let mut rest = path;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_ascii_alphanumeric();
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        put_word(&mut pattern, word);
        let separators = after.find(is_word).unwrap_or(after.len());
        let (between, next) = after.split_at(separators);
        pattern.push_str(between);
        rest = next;
    }
    pattern
}

fn put_word(pattern: &mut String, word: &str) {
    let has_digit = word.bytes().any(|b| b.is_ascii_digit());
    let is_hex = word.bytes().all(|b| b.is_ascii_hexdigit());
    if has_digit && is_hex && word.len() >= IDENTIFIER_LENGTH {
        pattern.push_str(":n");
        return;
    }
    let mut in_digits = false;
    for character in word.chars() {
        let is_digit = character.is_ascii_digit();
        match (is_digit, in_digits) {
            (true, false) => pattern.push_str(":n"),
            (true, true) => {}
            (false, _) => pattern.push(character),
        }
        in_digits = is_digit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_in_paths_become_n() {
        for (resource, expected) in [
            (
                "fs.open /tmp/x/product-11.json",
                "fs.open /tmp/x/product-:n.json",
            ),
            ("fs.read /up/5f3a9c01-77ab/a", "fs.read /up/:n-:nab/a"),
            ("fs.stat größe/img0001.png", "fs.stat größe/img:n.png"),
            ("fs.open", "fs.open"),
            ("tcp 127.0.0.1:5432", "tcp 127.0.0.1:5432"),
            ("dns.lookup db1.example", "dns.lookup db1.example"),
        ] {
            assert_eq!(pattern(resource), expected);
        }
    }

    #[test]
    fn one_file_keeps_its_path_and_several_share_a_row() {
        let mut resources = Resources::new(10);
        let lone = resources.number("fs.open /opt/2.3.1/a.html");
        assert_eq!(lone, resources.number("fs.open /opt/2.3.1/a.html"));
        let first = resources.number("fs.open /p-1.json");
        assert_eq!(resources.text(first), "fs.open /p-1.json");
        assert_eq!(first, resources.number("fs.open /p-2.json"));
        assert_eq!(resources.text(first), "fs.open /p-:n.json");
        assert_eq!(resources.text(lone), "fs.open /opt/2.3.1/a.html");
    }

    #[test]
    fn resources_beyond_the_bound_are_other() {
        let mut resources = Resources::new(1);
        resources.number("fs.open a");
        let other = resources.number("fs.open b");
        assert_eq!(resources.text(other), "(other)");
        assert_eq!(other, resources.number("fs.open c"));
        assert_eq!(resources.text(other), "(other)");
    }
}
