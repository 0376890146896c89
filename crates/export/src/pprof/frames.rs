//! Frames by number: a word that stands in a stack, or a code location with its file and line.

use std::collections::HashMap;

use bobtail_breakdown::CodeLocation;

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
    fn of_location(location: &CodeLocation) -> Self {
        let name = match location.function.as_str() {
            "" => "(anonymous)",
            name => name,
        };
        Self {
            name: name.to_owned(),
            file: location.file.clone(),
            line: location.line.into(),
        }
    }

    fn of_word(text: &str) -> Self {
        Self {
            name: text.to_owned(),
            ..Self::default()
        }
    }
}

/// All frames of a profile.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pub all: Vec<Frame>,
    words: HashMap<String, FrameId>,
    locations: HashMap<CodeLocation, FrameId>,
}

impl Frames {
    /// A frame that is a word.
    pub fn word(&mut self, text: &str) -> FrameId {
        if let Some(&number) = self.words.get(text) {
            return number;
        }
        let number = self.push(Frame::of_word(text));
        self.words.insert(text.to_owned(), number);
        number
    }

    /// A frame that is a code location.
    pub fn location(&mut self, location: &CodeLocation) -> FrameId {
        if let Some(&number) = self.locations.get(location) {
            return number;
        }
        let number = self.push(Frame::of_location(location));
        self.locations.insert(location.clone(), number);
        number
    }

    fn push(&mut self, frame: Frame) -> FrameId {
        self.all.push(frame);
        self.all.len() as FrameId
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(function: &str) -> CodeLocation {
        CodeLocation {
            function: function.to_owned(),
            file: "/srv/a b.js".to_owned(),
            line: 77,
            column: 3,
        }
    }

    #[test]
    fn a_location_has_function_file_and_line() {
        for (function, shown) in [("get total", "get total"), ("", "(anonymous)")] {
            let frame = Frame {
                name: shown.to_owned(),
                file: "/srv/a b.js".to_owned(),
                line: 77,
            };
            assert_eq!(Frame::of_location(&location(function)), frame);
        }
    }

    #[test]
    fn a_frame_has_one_number() {
        let mut frames = Frames::default();
        let place = location("a");
        let numbers = [frames.word("a"), frames.location(&place), frames.word("a")];
        assert_eq!(numbers, [1, 2, 1]);
        assert_eq!(frames.location(&place), 2);
    }
}
