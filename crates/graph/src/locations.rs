//! The places in code that were sampled, each under one number.
//!
//! Runs and culprits are many and hold the number; places are few and held once.

use std::collections::HashMap;

use bobtail_trace::record::CodePlace;

/// Number of a place within its trace; 0 is "none".
pub(crate) type LocationId = u32;

/// Places remembered; what comes after has no number. A real service has some hundreds.
const PLACES: usize = 1 << 16;

/// All places seen.
#[derive(Debug, Default)]
pub(crate) struct Locations {
    places: Vec<CodePlace>,
    numbers: HashMap<CodePlace, LocationId>,
}

impl Locations {
    /// The number of a place.
    pub(crate) fn number(&mut self, place: CodePlace) -> LocationId {
        if let Some(&number) = self.numbers.get(&place) {
            return number;
        }
        if self.places.len() >= PLACES {
            return 0;
        }
        self.places.push(place);
        let number = self.places.len() as LocationId;
        self.numbers.insert(place, number);
        number
    }

    /// The place with this number; one without a file where there is none.
    pub(crate) fn get(&self, id: LocationId) -> CodePlace {
        let index = (id as usize).wrapping_sub(1);
        self.places.get(index).copied().unwrap_or_default()
    }

    /// Two samples say the same.
    pub(crate) fn agree(&self, one: LocationId, other: LocationId) -> bool {
        one == other || agree(self.get(one), self.get(other))
    }
}

/// Both are in one line of one function. A function without a name is told from others by the
/// column, since in minified code all are on one line.
pub(crate) fn agree(one: CodePlace, other: CodePlace) -> bool {
    let line_of = |place: CodePlace| match place.function {
        0 => place,
        _ => CodePlace { column: 0, ..place },
    };
    line_of(one) == line_of(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_function_is_one_place() {
        let mut locations = Locations::default();
        let mut number = |function, line, column| {
            let file = 9;
            locations.number(CodePlace {
                function,
                file,
                line,
                column,
            })
        };
        let [left, right, below] = [number(1, 7, 3), number(1, 7, 9), number(1, 8, 3)];
        let [one, other] = [number(0, 7, 3), number(0, 7, 9)];
        assert_eq!((number(1, 7, 3), number(0, 7, 9)), (left, other));
        assert!(locations.agree(left, right));
        assert!(!locations.agree(left, below));
        assert!(!locations.agree(one, other));
        assert!(!locations.agree(0, left) && locations.get(0).file == 0);
    }
}
