//! The components of a service by name: its routes, and what it waits for.
//!
//! The tables of names differ from trace to trace, and a change names a component once for all of
//! them, so names are numbered here for the whole recording.

use std::collections::BTreeMap;

/// Names by number, in the order in which they were met; 0 is nobody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components {
    pub(crate) routes: Names,
    pub(crate) resources: Names,
}

/// Numbered names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Names {
    texts: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Names {
    /// The number of a name, given out at its first use.
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }
}

impl Components {
    /// None yet but those without a name.
    pub fn new() -> Self {
        let mut all = Self {
            routes: Names::default(),
            resources: Names::default(),
        };
        all.routes.number("");
        all.resources.number("");
        all
    }

    /// Names of routes, by number; the first stands for what belongs to no request.
    pub fn routes(&self) -> &[String] {
        self.routes.texts()
    }

    /// Names of resources, by number; the first stands for what is not waited for.
    pub fn resources(&self) -> &[String] {
        self.resources.texts()
    }
}

impl Default for Components {
    fn default() -> Self {
        Self::new()
    }
}
