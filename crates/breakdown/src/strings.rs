//! Looking up names of a trace, whoever holds them.

use bobtail_trace::record::StringId;

use crate::places::CodeLocation;

/// A string table: ids start with 1.
pub trait Strings {
    /// The string with this id; `None` for 0 and for an unknown one.
    fn get(&self, id: StringId) -> Option<&str>;

    /// The place in the source of a place in what ran; `None` where what ran is all that is known.
    /// Always the same answer to the same question.
    fn original(&self, _ran: &CodeLocation) -> Option<CodeLocation> {
        None
    }
}

impl Strings for [String] {
    fn get(&self, id: StringId) -> Option<&str> {
        self.as_ref()
            .get((id as usize).checked_sub(1)?)
            .map(String::as_str)
    }
}

impl Strings for Vec<String> {
    fn get(&self, id: StringId) -> Option<&str> {
        Strings::get(self.as_slice(), id)
    }
}

impl Strings for bobtail_trace::Strings {
    fn get(&self, id: StringId) -> Option<&str> {
        bobtail_trace::Strings::get(self, id)
    }
}
