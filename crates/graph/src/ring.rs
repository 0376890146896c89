//! A numbered ring: the newest entries of an endless sequence, found by their number.
//!
//! It grows by doubling only while something still needs its oldest entry, up to a bound, so a
//! quiet trace stays in the cache and a long request cannot take all memory.

/// Entries `next - len .. next` of a sequence.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    slots: Vec<T>,
    next: u32,
    len: u32,
    bound: usize,
    needed: Option<u32>,
    starved: bool,
}

impl<T: Copy + Default> Ring<T> {
    /// `first` is the number of the first entry; `initial` and `bound` count entries and are
    /// rounded up to powers of two.
    pub(crate) fn new(first: u32, initial: usize, bound: usize) -> Self {
        let bound = bound.next_power_of_two();
        let initial = initial.next_power_of_two().min(bound);
        let slots = vec![T::default(); initial];
        Self {
            slots,
            next: first,
            len: 0,
            bound,
            needed: None,
            starved: false,
        }
    }

    fn slot(&self, number: u32) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    /// Appends and returns the entry's number.
    #[inline]
    pub(crate) fn push(&mut self, value: T) -> u32 {
        if self.len as usize == self.slots.len() {
            self.make_room();
        }
        let number = self.next;
        let slot = self.slot(number);
        self.slots[slot] = value;
        self.next = number.wrapping_add(1);
        self.len += 1;
        number
    }

    fn make_room(&mut self) {
        let needed = self
            .needed
            .is_some_and(|n| self.next.wrapping_sub(n) >= self.len);
        if !needed || self.slots.len() >= self.bound {
            self.starved |= needed;
            self.len -= 1;
            return;
        }
        let mut wider = vec![T::default(); self.slots.len() * 2];
        let mask = wider.len() - 1;
        for age in 1..=self.len {
            let number = self.next.wrapping_sub(age);
            wider[number as usize & mask] = self.slots[self.slot(number)];
        }
        self.slots = wider;
    }

    /// Takes the newest entry back; the next one gets its number.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let newest = self.next.wrapping_sub(1);
        let value = *self.get(newest)?;
        self.next = newest;
        self.len -= 1;
        Some(value)
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let age = self.next.wrapping_sub(number);
        if age == 0 || age > self.len {
            None
        } else {
            Some(&self.slots[self.slot(number)])
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let age = self.next.wrapping_sub(number);
        let slot = self.slot(number);
        if age == 0 || age > self.len {
            None
        } else {
            Some(&mut self.slots[slot])
        }
    }

    /// Entries for which there is room.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The number the next entry will get.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// The number of the oldest entry still here; `next` when empty.
    pub(crate) fn oldest(&self) -> u32 {
        self.next.wrapping_sub(self.len)
    }

    /// Forgets everything; the next entry gets this number.
    pub(crate) fn restart(&mut self, next: u32) {
        self.next = next;
        self.len = 0;
    }

    /// Entries from this number on are needed; `None`: no entry is.
    pub(crate) fn need_from(&mut self, number: Option<u32>) {
        self.needed = number;
        self.starved = false;
    }

    /// A needed entry had to be given up because the ring is at its bound.
    pub(crate) fn starved(&self) -> bool {
        self.starved
    }

    /// The first entry, by number, for which `before` is false; entries must be ordered by it.
    pub(crate) fn partition_point(&self, mut before: impl FnMut(&T) -> bool) -> u32 {
        let oldest = self.oldest();
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(&self.slots[self.slot(oldest.wrapping_add(middle))]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        oldest.wrapping_add(low)
    }

    /// The same, at or after `from`, for answers near it: the steps from there double.
    pub(crate) fn partition_point_from(
        &self,
        from: u32,
        mut before: impl FnMut(&T) -> bool,
    ) -> u32 {
        let oldest = self.oldest();
        let mut low = from.wrapping_sub(oldest);
        if low > self.len {
            return self.partition_point(before);
        }
        let mut at = |age: u32| before(&self.slots[self.slot(oldest.wrapping_add(age))]);
        let mut step = 1;
        let mut high = low;
        while high < self.len && at(high) {
            low = high + 1;
            high = low.saturating_add(step).min(self.len);
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if at(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        oldest.wrapping_add(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest_and_forgets_the_rest() {
        let mut ring = Ring::new(1, 4, 4);
        for value in 0..10u64 {
            ring.push(value);
        }
        assert_eq!(ring.oldest(), 7);
        assert_eq!(
            (ring.get(6), ring.get(7), ring.get(10), ring.get(11)),
            (None, Some(&6), Some(&9), None)
        );
    }

    #[test]
    fn grows_while_its_oldest_is_needed_and_then_starves() {
        let mut ring = Ring::new(1, 2, 8);
        ring.need_from(Some(1));
        for value in 0..8u64 {
            ring.push(value);
        }
        assert_eq!((ring.get(1), ring.starved()), (Some(&0), false));
        ring.push(8);
        assert_eq!((ring.get(1), ring.starved()), (None, true));
    }

    #[test]
    fn the_newest_can_be_taken_back() {
        let mut ring = Ring::new(1, 2, 2);
        for value in 0..3u64 {
            ring.push(value);
        }
        assert_eq!((ring.pop(), ring.next(), ring.push(9)), (Some(2), 3, 3));
        assert_eq!(
            (ring.pop(), ring.pop(), ring.pop()),
            (Some(9), Some(1), None)
        );
    }

    #[test]
    fn a_search_from_anywhere_finds_what_one_over_all_finds() {
        let mut ring = Ring::new(u32::MAX - 9, 32, 32);
        for value in 0..40u64 {
            ring.push(value);
        }
        for wanted in 0..42 {
            let point = ring.partition_point(|v| *v < wanted);
            for from in 0..point.wrapping_sub(ring.oldest()) + 1 {
                let from = ring.oldest().wrapping_add(from);
                assert_eq!(ring.partition_point_from(from, |v| *v < wanted), point);
            }
        }
    }

    #[test]
    fn numbers_may_wrap() {
        let mut ring = Ring::new(u32::MAX - 1, 4, 4);
        for value in 0..6u64 {
            ring.push(value);
        }
        assert_eq!(
            (ring.next(), ring.get(3), ring.get(u32::MAX)),
            (4, Some(&5), None)
        );
        assert_eq!(ring.partition_point(|v| *v < 4), 2);
    }
}
