//! The requests that came and are not answered, in line as they came, with how far each is.
//!
//! Of a server that takes one request after the other only the first would have made progress. On
//! an event loop several have, and while one waits for something else those behind it run. So of
//! each is told what was done for it, and how much of its time the loop did something else than
//! working for it or for those before it.

use bobtail_trace::record::Ns;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Open {
    /// In order of arrival.
    line: Vec<Waiting>,
    /// How long the loop has worked for any of them.
    worked_ns: u64,
}

/// A request that is open.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    came_ns: Ns,
    request: u32,
    /// What was done for it, as long as it takes at base speed.
    done_ns: f64,
    /// How long that took.
    worked_ns: u64,
    /// How long the loop had worked for any when it came.
    worked_before_ns: u64,
    /// How long it has since worked for later ones that are answered.
    for_later_ns: u64,
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Progress {
    /// Since it came.
    pub open_ns: u64,
    /// What was done for it, at base speed.
    pub done_ns: f64,
    /// Since it came, less what the loop worked for it and for those before it.
    pub rest_ns: f64,
    /// Requests that came before it and are open.
    pub before: usize,
}

impl Open {
    /// When the first came.
    pub(crate) fn first_ns(&self) -> Option<Ns> {
        self.line.first().map(|one| one.came_ns)
    }

    /// One came.
    pub(crate) fn come(&mut self, request: u32, came_ns: Ns) {
        let place = self
            .line
            .partition_point(|one| (one.came_ns, one.request) < (came_ns, request));
        let waiting = Waiting {
            came_ns,
            request,
            done_ns: 0.0,
            worked_ns: 0,
            worked_before_ns: self.worked_ns,
            for_later_ns: 0,
        };
        self.line.insert(place, waiting);
    }

    /// The loop worked for one.
    pub(crate) fn work(&mut self, request: u32, came_ns: Ns, done_ns: f64, took_ns: u64) {
        if let Some(at) = self.place(request, came_ns) {
            let one = &mut self.line[at];
            one.done_ns += done_ns;
            one.worked_ns += took_ns;
            self.worked_ns += took_ns;
        }
    }

    /// One is answered; how far it came.
    pub(crate) fn answer(&mut self, request: u32, came_ns: Ns, now: Ns) -> Option<Progress> {
        let at = self.place(request, came_ns)?;
        let later = &self.line[at + 1..];
        let for_later_ns = later
            .iter()
            .map(|one| one.worked_ns + one.for_later_ns)
            .sum();
        let progress = self.progress(at, for_later_ns, now);
        let gone = self.line.remove(at);
        if let Some(before) = at.checked_sub(1) {
            self.line[before].for_later_ns += gone.worked_ns + gone.for_later_ns;
        }
        Some(progress)
    }

    /// How far each is, the last to come first.
    pub(crate) fn each(&self, now: Ns) -> impl Iterator<Item = Progress> + '_ {
        let mut for_later_ns = 0;
        (0..self.line.len()).rev().map(move |at| {
            let progress = self.progress(at, for_later_ns, now);
            for_later_ns += self.line[at].worked_ns + self.line[at].for_later_ns;
            progress
        })
    }

    fn place(&self, request: u32, came_ns: Ns) -> Option<usize> {
        let key = |one: &Waiting| (one.came_ns, one.request);
        self.line
            .binary_search_by_key(&(came_ns, request), key)
            .ok()
    }

    /// `for_later_ns`: how long the loop worked for those behind it that are open.
    fn progress(&self, at: usize, for_later_ns: u64, now: Ns) -> Progress {
        let one = &self.line[at];
        let open_ns = now.saturating_sub(one.came_ns);
        let since_ns = self.worked_ns - one.worked_before_ns;
        let in_line_ns = since_ns.saturating_sub(for_later_ns + one.for_later_ns);
        Progress {
            open_ns,
            done_ns: one.done_ns,
            rest_ns: open_ns.saturating_sub(in_line_ns) as f64,
            before: at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_what_the_loop_does_neither_for_one_nor_for_those_before_it() {
        let mut open = Open::default();
        open.come(7, 100);
        open.come(3, 110);
        // 7 runs for 50 at half a boost more, then 3 for 20 while 7 waits, which is answered.
        open.work(7, 100, 75.0, 50);
        open.work(3, 110, 20.0, 20);
        let each: Vec<Progress> = open.each(200).collect();
        assert_eq!(each[0].before, 1);
        // 3 came at 110: of 90, 50 went to the one before it, 20 to itself.
        assert_eq!((each[0].open_ns, each[0].rest_ns), (90, 20.0));
        assert_eq!((each[1].done_ns, each[1].rest_ns), (75.0, 50.0));
        let third = open.answer(3, 110, 200).expect("it is open");
        assert_eq!((third.done_ns, third.rest_ns), (20.0, 20.0));
        // What was done for one that is answered is still not done for the first.
        let first = open.answer(7, 100, 210).expect("it is open");
        assert_eq!((first.open_ns, first.rest_ns), (110, 60.0));
        assert_eq!(open.answer(7, 100, 220), None);
        assert_eq!(open.first_ns(), None);
    }

    #[test]
    fn work_for_one_that_is_not_open_is_nobodys() {
        let mut open = Open::default();
        open.work(1, 0, 10.0, 10);
        open.come(2, 5);
        open.work(1, 0, 10.0, 10);
        let one = open.answer(2, 5, 30).expect("it is open");
        assert_eq!((one.done_ns, one.rest_ns), (0.0, 25.0));
    }
}
