//! Places in code as the report names them: in the source that people wrote, where that is known.
//!
//! What ran may be a bundle, so the caller may know an original place for it
//! ([`Strings::original`]). It is asked before anything is summed: two places in a bundle may be
//! the same line of a source, and who waited for either could not be counted once afterwards.

use std::collections::HashMap;
use std::fmt;

use bobtail_trace::record::CodePlace;
use serde::{Deserialize, Serialize};

use crate::names::{Name, Names, Numbered};
use crate::strings::Strings;

/// A place in code, by names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeLocation {
    /// Empty for a function without a name and for the code of a module.
    pub function: String,
    /// Path of the file, or what else the script is called.
    pub file: String,
    /// From 1; 0 unknown.
    pub line: u32,
    /// From 1, in UTF-16 units; 0 unknown.
    pub column: u32,
}

/// As V8 prints it in stack traces: `function file:line:column`.
impl fmt::Display for CodeLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.function.is_empty() {
            write!(out, "{} ", self.function)?;
        }
        out.write_str(&self.file)?;
        let numbers = [self.line, self.column];
        let known = numbers.into_iter().take_while(|number| *number > 0);
        known.into_iter().try_for_each(|n| write!(out, ":{n}"))
    }
}

/// A place, ready to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// In the source, where that is known; else in what ran.
    pub location: String,
    /// Where it was in what ran, if `location` is in a source.
    pub generated: Option<String>,
}

/// The place of a trace that is told: in its source, where that is known.
pub fn shown_place(place: CodePlace, strings: &(impl Strings + ?Sized)) -> Option<CodeLocation> {
    let ran = code_location(place, strings)?;
    Some(strings.original(&ran).unwrap_or(ran))
}

/// A place of a trace; `None` for none.
pub fn located(place: CodePlace, strings: &(impl Strings + ?Sized)) -> Option<Located> {
    let ran = code_location(place, strings)?;
    let original = strings.original(&ran);
    Some(tell(&ran, original.as_ref()))
}

fn tell(ran: &CodeLocation, original: Option<&CodeLocation>) -> Located {
    match original {
        Some(original) => Located {
            location: original.to_string(),
            generated: Some(ran.to_string()),
        },
        None => Located {
            location: ran.to_string(),
            generated: None,
        },
    }
}

/// Number of a place among those of all traces; 0 is `(other)`.
pub(crate) type PlaceId = u32;

/// A place and what it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub located: Located,
    /// What it is summed under: a line of a function. A function without a name of which no source
    /// is known is told from others by its column, too: in a bundle all of them are on one line.
    pub line: Name,
}

/// All places of all traces.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    places: Vec<Place>,
    numbers: HashMap<CodeLocation, PlaceId>,
    lines: Names,
    bound: usize,
}

impl Places {
    /// `bound` places beside `(other)`.
    pub(crate) fn new(bound: usize) -> Self {
        let lines = Names::new(bound);
        let located = Located {
            location: lines.text(0).to_owned(),
            generated: None,
        };
        let other = Place { located, line: 0 };
        Self {
            places: vec![other],
            numbers: HashMap::new(),
            lines,
            bound,
        }
    }

    pub(crate) fn get(&self, id: PlaceId) -> &Place {
        &self.places[id as usize]
    }

    fn number(&mut self, ran: CodeLocation, strings: &(impl Strings + ?Sized)) -> PlaceId {
        if let Some(&number) = self.numbers.get(&ran) {
            return number;
        }
        if self.places.len() > self.bound {
            return 0;
        }
        let original = strings.original(&ran);
        let shown = original.as_ref().unwrap_or(&ran);
        let by_column = original.is_none() && ran.function.is_empty();
        let line = CodeLocation {
            column: if by_column { ran.column } else { 0 },
            ..shown.clone()
        };
        let number = self.places.len() as PlaceId;
        self.places.push(Place {
            located: tell(&ran, original.as_ref()),
            line: self.lines.number(&line.to_string()),
        });
        self.numbers.insert(ran, number);
        number
    }
}

/// The places of one trace, so that each is looked up once.
#[derive(Debug, Default)]
pub(crate) struct PlacesOfTrace {
    known: HashMap<CodePlace, PlaceId>,
}

impl PlacesOfTrace {
    /// The common number of a place; `None` for no place.
    pub(crate) fn place(
        &mut self,
        place: CodePlace,
        strings: &(impl Strings + ?Sized),
        places: &mut Places,
    ) -> Option<PlaceId> {
        if let Some(&known) = self.known.get(&place) {
            return Some(known);
        }
        let number = places.number(code_location(place, strings)?, strings);
        self.known.insert(place, number);
        Some(number)
    }
}

/// A place of a trace in what ran; `None` for none.
pub fn code_location(place: CodePlace, strings: &(impl Strings + ?Sized)) -> Option<CodeLocation> {
    Some(CodeLocation {
        function: strings.get(place.function).unwrap_or_default().to_owned(),
        file: strings.get(place.file)?.to_owned(),
        line: place.line,
        column: place.column,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobtail_trace::record::StringId;

    const NO_STRINGS: Vec<String> = Vec::new();

    fn at(function: &str, file: &str, line: u32, column: u32) -> CodeLocation {
        CodeLocation {
            function: function.into(),
            file: file.into(),
            line,
            column,
        }
    }

    /// Knows where things on the one line of a bundle were: at the line of their column.
    struct Bundle;

    impl Strings for Bundle {
        fn get(&self, _: StringId) -> Option<&str> {
            None
        }

        fn original(&self, ran: &CodeLocation) -> Option<CodeLocation> {
            let of_bundle = ran.file == "bundle.js";
            of_bundle.then(|| at("", "a.ts", ran.column / 10, ran.column % 10 + 1))
        }
    }

    #[test]
    fn is_printed_as_v8_does() {
        assert_eq!(at("f", "/a b.js", 3, 14).to_string(), "f /a b.js:3:14");
        assert_eq!(at("", "/a.js", 3, 14).to_string(), "/a.js:3:14");
        assert_eq!(at("get f", "/a.js", 3, 0).to_string(), "get f /a.js:3");
        assert_eq!(at("f", "evalmachine", 0, 0).to_string(), "f evalmachine");
    }

    #[test]
    fn lines_are_those_of_the_source() {
        let mut places = Places::new(9);
        let mut place = |location| {
            let number = places.number(location, &Bundle);
            places.get(number).clone()
        };
        let one = place(at("a", "bundle.js", 1, 71));
        let same = place(at("b", "bundle.js", 1, 75));
        let other = place(at("b", "bundle.js", 1, 85));
        assert_eq!(
            (one.line == same.line, one.line == other.line),
            (true, false)
        );
        assert_eq!(one.located.location, "a.ts:7:2");
        assert_eq!(one.located.generated.as_deref(), Some("a bundle.js:1:71"));
    }

    #[test]
    fn without_a_source_a_named_function_is_told_by_its_line() {
        let mut places = Places::new(9);
        let mut line = |location| {
            let number = places.number(location, &NO_STRINGS);
            places.get(number).line
        };
        assert_eq!(line(at("f", "a.js", 1, 5)), line(at("f", "a.js", 1, 50)));
        assert_ne!(line(at("f", "a.js", 1, 5)), line(at("f", "a.js", 2, 5)));
        assert_ne!(line(at("", "a.js", 1, 5)), line(at("", "a.js", 1, 50)));
    }

    #[test]
    fn places_beyond_the_bound_are_other() {
        let mut places = Places::new(1);
        assert_eq!(places.number(at("f", "a.js", 1, 1), &NO_STRINGS), 1);
        assert_eq!(places.number(at("g", "a.js", 2, 1), &NO_STRINGS), 0);
        assert_eq!(places.get(0).located.location, "(other)");
    }
}
