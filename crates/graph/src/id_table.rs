//! A bounded map for numbers that are given out in order, of which few live long.
//!
//! A plain hash map would hash on the hot path and grow with what is never taken out (cleared
//! timers). Here the young ones sit in an array by their low bits; an entry that is still alive
//! when its place is taken moves to an ordered map, whose oldest entry goes when it is full.

use std::collections::BTreeMap;

/// Whether an entry must survive the loss of its place.
pub(crate) trait Alive {
    fn alive(&self) -> bool;
}

#[derive(Debug)]
pub(crate) struct IdTable<T> {
    young: Vec<(u32, T)>,
    old: BTreeMap<u32, T>,
    old_bound: usize,
}

impl<T: Copy + Default + Alive> IdTable<T> {
    pub(crate) fn new(young: usize, old_bound: usize) -> Self {
        let young = vec![(0, T::default()); young.next_power_of_two()];
        Self {
            young,
            old: BTreeMap::new(),
            old_bound,
        }
    }

    /// Entries for which there is room, and those that had to move.
    pub(crate) fn capacity(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// All entries, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        let young = self.young.iter().filter(|(id, _)| *id != 0);
        young.map(|(_, value)| value).chain(self.old.values())
    }

    fn slot(&self, id: u32) -> usize {
        id as usize & (self.young.len() - 1)
    }

    /// Id 0 is never found.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        let (found, value) = &self.young[self.slot(id)];
        if id == 0 {
            None
        } else if *found == id {
            Some(value)
        } else {
            self.old.get(&id)
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        let slot = self.slot(id);
        if id == 0 {
            None
        } else if self.young[slot].0 == id {
            Some(&mut self.young[slot].1)
        } else {
            self.old.get_mut(&id)
        }
    }

    /// Sets the entry; returns an older, living one that had to be given up for it.
    pub(crate) fn insert(&mut self, id: u32, value: T) -> Option<(u32, T)> {
        if let Some(old) = self.old.get_mut(&id) {
            *old = value;
            return None;
        }
        let slot = self.slot(id);
        let (displaced, before) = std::mem::replace(&mut self.young[slot], (id, value));
        if displaced == 0 || displaced == id || !before.alive() {
            return None;
        }
        self.old.insert(displaced, before);
        if self.old.len() > self.old_bound {
            self.old.pop_first()
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    struct Life(bool);
    impl Alive for Life {
        fn alive(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn the_living_survive_the_loss_of_their_place() {
        let mut table = IdTable::new(2, 1);
        table.insert(1, Life(true));
        table.insert(2, Life(false));
        assert_eq!(table.insert(3, Life(true)), None);
        assert_eq!(table.insert(4, Life(true)), None);
        assert_eq!((table.get(1), table.get(2)), (Some(&Life(true)), None));
        assert_eq!(table.insert(5, Life(true)), Some((1, Life(true))));
        assert_eq!((table.get(5), table.get(0)), (Some(&Life(true)), None));
    }
}
