//! The table of texts of the page: each is told once.

use std::collections::HashMap;

use crate::page::rows::Text;

/// Texts by number; 0 is none.
#[derive(Debug, Clone)]
pub(crate) struct Texts {
    all: Vec<String>,
    numbers: HashMap<String, Text>,
}

impl Texts {
    pub(crate) fn new() -> Self {
        Self {
            all: vec![String::new()],
            numbers: HashMap::new(),
        }
    }

    /// The number of a text.
    pub(crate) fn of(&mut self, text: &str) -> Text {
        if text.is_empty() {
            return 0;
        }
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.all.len() as Text;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// Likewise, 0 for no text.
    pub(crate) fn maybe(&mut self, text: Option<&str>) -> Text {
        text.map_or(0, |text| self.of(text))
    }

    pub(crate) fn into_all(self) -> Vec<String> {
        self.all
    }
}
