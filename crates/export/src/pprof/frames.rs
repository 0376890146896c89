//! Frames by number: a text that stands in a stack, with file and line where it is a code location.

use std::collections::HashMap;

/// Number of a frame, from 1, as pprof numbers locations.
pub(super) type FrameId = u32;

/// A frame as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Frame {
    pub name: String,
    /// Empty where it is no code.
    pub file: String,
    /// 0 where it is no code.
    pub line: i64,
}

impl Frame {
    /// Of a location as the recorder writes it: `function file:line`.
    fn of_location(text: &str) -> Self {
        let plain = || Self {
            name: text.to_owned(),
            ..Self::default()
        };
        let Some((place, line)) = text.rsplit_once(':') else {
            return plain();
        };
        let Ok(line) = line.parse() else {
            return plain();
        };
        let (name, file) = place.rsplit_once(' ').unwrap_or(("(anonymous)", place));
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            line,
        }
    }
}

/// All frames of a profile.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pub all: Vec<Frame>,
    /// By whether it is a location, and its text.
    known: [HashMap<String, FrameId>; 2],
}

impl Frames {
    /// A frame that is a word.
    pub fn word(&mut self, text: &str) -> FrameId {
        self.number(text, false)
    }

    /// A frame that is a code location.
    pub fn location(&mut self, text: &str) -> FrameId {
        self.number(text, true)
    }

    fn number(&mut self, text: &str, is_location: bool) -> FrameId {
        let known = &mut self.known[usize::from(is_location)];
        if let Some(&number) = known.get(text) {
            return number;
        }
        self.all.push(if is_location {
            Frame::of_location(text)
        } else {
            Frame {
                name: text.to_owned(),
                ..Frame::default()
            }
        });
        let number = self.all.len() as FrameId;
        known.insert(text.to_owned(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_has_function_file_and_line() {
        for (text, name, file, line) in [
            (
                "exportOrders server.cjs:77",
                "exportOrders",
                "server.cjs",
                77,
            ),
            ("get total /srv/a/b.js:3", "get total", "/srv/a/b.js", 3),
            ("node:fs:12", "(anonymous)", "node:fs", 12),
            ("serialize", "serialize", "", 0),
        ] {
            let (name, file) = (name.to_owned(), file.to_owned());
            assert_eq!(Frame::of_location(text), Frame { name, file, line });
        }
    }

    #[test]
    fn a_frame_has_one_number() {
        let mut frames = Frames::default();
        let numbers = [frames.word("a"), frames.location("a"), frames.word("a")];
        assert_eq!(numbers, [1, 2, 1]);
    }
}
