//! Names of several traces under common, bounded numbers.
//!
//! A service that puts identifiers into its routes would make a row per request; so after a bound
//! every new name is `(other)`, which the report shows like any other.

use std::collections::HashMap;

use bobtail_trace::record::StringId;

use crate::strings::Strings;

/// Number of a common name.
pub(crate) type Name = u32;

/// How many of each are told by name.
pub(crate) const ROUTES: usize = 1000;
pub(crate) const RESOURCES: usize = 1000;
pub(crate) const LOCATIONS: usize = 10_000;

/// The number of all names beyond the bound.
pub(crate) const UNNAMED: Name = 0;
const OTHER: &str = "(other)";

/// Gives texts their common numbers.
pub(crate) trait Numbered {
    fn number(&mut self, text: &str) -> Name;
}

/// Common names; number 0 is `(other)`.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    texts: Vec<String>,
    numbers: HashMap<String, Name>,
    bound: usize,
}

impl Names {
    /// `bound` names beside `(other)`.
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            texts: vec![OTHER.into()],
            numbers: HashMap::from([(OTHER.into(), UNNAMED)]),
            bound,
        }
    }

    /// The number of a text that has one.
    pub(crate) fn find(&self, text: &str) -> Option<Name> {
        self.numbers.get(text).copied()
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        &self.texts[name as usize]
    }
}

impl Numbered for Names {
    fn number(&mut self, text: &str) -> Name {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        if self.texts.len() > self.bound {
            return UNNAMED;
        }
        let number = self.texts.len() as Name;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }
}

/// Common numbers by the string ids of one trace, so that a text is hashed once per trace.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    known: Vec<Option<Name>>,
}

/// Ids beyond are looked up each time.
const IDS_KNOWN: usize = 1 << 20;

impl Translation {
    /// The common number of a string; `None` for no string.
    pub(crate) fn name(
        &mut self,
        id: StringId,
        strings: &(impl Strings + ?Sized),
        names: &mut impl Numbered,
    ) -> Option<Name> {
        if id == 0 {
            return None;
        }
        let index = id as usize;
        if let Some(Some(name)) = self.known.get(index) {
            return Some(*name);
        }
        let name = names.number(strings.get(id)?);
        if index < IDS_KNOWN {
            self.known.resize(self.known.len().max(index + 1), None);
            self.known[index] = Some(name);
        }
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_bound_are_other() {
        let mut names = Names::new(2);
        let numbers: Vec<_> = ["a", "b", "c", "a"]
            .into_iter()
            .map(|t| names.number(t))
            .collect();
        assert_eq!(numbers, [1, 2, 0, 1]);
        assert_eq!(names.text(0), "(other)");
    }
}
