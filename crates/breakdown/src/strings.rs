//! Looking up names of a trace, whoever holds them.

use bobtail_trace::record::StringId;

/// A string table: ids start with 1.
pub trait Strings {
    /// The string with this id; `None` for 0 and for an unknown one.
    fn get(&self, id: StringId) -> Option<&str>;
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
