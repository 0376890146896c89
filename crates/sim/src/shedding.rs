//! `gci`: requests are turned away from when a collection is due until it is done (Fireman, Lopes,
//! Brunet: *Using Load Shedding to Fight Tail-Latency on Runtime-Based Services*, Algorithm 1).
//!
//! A collection is due where the recording has it, since a replay cannot know what V8 would
//! collect. It waits until all who had come by then are answered, and runs then. Who comes
//! meanwhile is turned away before the service, as by the authors' proxy: a loop that collects
//! could not even say no. Their steps take no time, but still let go what others wait for: a
//! promise that two requests share would otherwise never be there for the other.

use bobtail_policy::CollectionKind;
use bobtail_trace::record::Ns;

use crate::model::{Model, NO_REQUEST};

pub(crate) const NAME: &str = "gci";
const COLLECTIONS: &str = "collections";

/// For which collections requests are turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shedding {
    /// Those of everything; the marking before them is then done with them.
    Full,
    /// Those of the young generation, too.
    All,
}

impl Shedding {
    /// From the settings behind its name; an error has the byte among these and what is wrong.
    pub(crate) fn parse(settings: &str) -> Result<Self, (usize, String)> {
        if settings.is_empty() {
            return Ok(Self::Full);
        }
        let (key, value) = settings.split_once('=').unwrap_or((settings, ""));
        match (key, value) {
            (COLLECTIONS, "full") => Ok(Self::Full),
            (COLLECTIONS, "all") => Ok(Self::All),
            (COLLECTIONS, _) => {
                let at = (COLLECTIONS.len() + 1).min(settings.len());
                Err((at, format!("{COLLECTIONS} is \"{value}\", not full or all")))
            }
            _ => {
                let problem = format!("{NAME} has no setting \"{key}\"; it has {COLLECTIONS}");
                Err((0, problem))
            }
        }
    }

    /// Whether one of this kind waits for a loop that nobody waits for.
    fn waits(self, kind: CollectionKind) -> bool {
        match kind {
            CollectionKind::MarkCompact | CollectionKind::IncrementalMarking => true,
            CollectionKind::Scavenge | CollectionKind::MinorMarkSweep => self == Self::All,
            CollectionKind::WeakCallbacks => false,
        }
    }
}

/// When nobody was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    pub from_ns: Ns,
    pub to_ns: Ns,
}

/// Who is let in while a loop runs, and the collections that wait.
#[derive(Debug)]
pub(crate) struct Door {
    shedding: Shedding,
    /// Of each request, when it comes.
    comes_ns: Vec<Ns>,
    /// Requests in the order in which they come.
    order: Vec<u32>,
    /// Of each request; none before somebody has to know.
    is_turned_away: Vec<Option<bool>>,
    is_answered: Vec<bool>,
    /// Before this place of the order all are answered or turned away.
    first_open: usize,
    closed: Vec<Closed>,
    closed_from_ns: Option<Ns>,
    /// The collection that would be done now, where it waits.
    put_off: Option<CollectionKind>,
    /// What those that wait take.
    due_ns: u64,
    /// Marking for the next collection of everything.
    marking_ns: u64,
}

impl Door {
    /// Open; each request comes at its time.
    pub(crate) fn new(shedding: Shedding, comes_ns: Vec<Ns>) -> Self {
        let mut order: Vec<u32> = (0..comes_ns.len() as u32).collect();
        order.sort_by_key(|&request| comes_ns[request as usize]);
        Self {
            shedding,
            order,
            is_turned_away: vec![None; comes_ns.len()],
            is_answered: vec![false; comes_ns.len()],
            comes_ns,
            first_open: 0,
            closed: Vec::new(),
            closed_from_ns: None,
            put_off: None,
            due_ns: 0,
            marking_ns: 0,
        }
    }

    /// How long a piece of work takes that somebody has to do, of which a part is a collection.
    pub(crate) fn takes_ns(&mut self, work_ns: u64, gc_ns: u64) -> u64 {
        match self.put_off {
            None => return work_ns,
            Some(CollectionKind::IncrementalMarking) => self.marking_ns += gc_ns,
            Some(_) => self.due_ns += gc_ns,
        }
        work_ns - gc_ns
    }

    /// A collection would begin in work for a request. Who is turned away asks for no memory.
    pub(crate) fn collect(&mut self, kind: CollectionKind, request: u32, now: Ns) {
        let waits = self.shedding.waits(kind) && !self.turns_away(request, now);
        self.put_off = waits.then_some(kind);
        if waits && kind != CollectionKind::IncrementalMarking {
            self.closed_from_ns.get_or_insert(now);
        }
        if waits && kind == CollectionKind::MarkCompact {
            self.due_ns += std::mem::take(&mut self.marking_ns);
        }
    }

    /// It would be over.
    pub(crate) fn collected(&mut self) {
        self.put_off = None;
    }

    /// A collection would be done before a callback; whether it waits.
    pub(crate) fn puts_off(&mut self, kind: CollectionKind, gc_ns: u64, now: Ns) -> bool {
        self.collect(kind, NO_REQUEST, now);
        let waits = self.put_off.is_some();
        self.takes_ns(gc_ns, gc_ns);
        self.collected();
        waits
    }

    /// A request is answered.
    pub(crate) fn answer(&mut self, request: u32) {
        self.is_answered[request as usize] = true;
    }

    /// Between two events: collections that are due and that nobody waits behind; until when they
    /// run. Then who comes is let in again.
    pub(crate) fn open_again(&mut self, now: Ns) -> Ns {
        let Some(from_ns) = self.closed_from_ns else {
            return now;
        };
        while let Some(&request) = self.order.get(self.first_open) {
            if self.comes_ns[request as usize] >= from_ns {
                break;
            }
            if !self.is_answered[request as usize] && !self.turns_away(request, now) {
                return now;
            }
            self.first_open += 1;
        }
        let to_ns = now + std::mem::take(&mut self.due_ns);
        self.closed.push(Closed { from_ns, to_ns });
        self.closed_from_ns = None;
        to_ns
    }

    /// Whether a request is turned away; once it has come that stays so. What is done for one that
    /// is still to come, as a connection for it, is done.
    pub(crate) fn turns_away(&mut self, request: u32, now: Ns) -> bool {
        let Some(&told) = self.is_turned_away.get(request as usize) else {
            return false;
        };
        let comes_ns = self.comes_ns[request as usize];
        if comes_ns > now {
            return false;
        }
        let (closed, since) = (&self.closed, self.closed_from_ns);
        let decide = || {
            let before = closed.partition_point(|one| one.from_ns <= comes_ns);
            let within = before > 0 && comes_ns < closed[before - 1].to_ns;
            within || since.is_some_and(|from_ns| from_ns <= comes_ns)
        };
        *self.is_turned_away[request as usize].insert(told.unwrap_or_else(decide))
    }

    /// When nobody was let in since the first request that counts, and whether each of those was
    /// turned away.
    pub(crate) fn finish(mut self, model: &Model) -> (Vec<Closed>, Vec<bool>) {
        let counted = model.requests.iter().zip(0..).filter(|one| one.0.counts);
        let counted: Vec<u32> = counted.map(|(_, request)| request).collect();
        let each = counted.iter().map(|&one| self.turns_away(one, Ns::MAX));
        let each: Vec<bool> = each.collect();
        let comes_ns = counted.iter().map(|&one| self.comes_ns[one as usize]);
        let from_ns = comes_ns.min().unwrap_or(Ns::MAX);
        self.closed.retain(|one| one.to_ns > from_ns);
        (self.closed, each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_errors_tell_where() {
        assert_eq!(Shedding::parse(""), Ok(Shedding::Full));
        assert_eq!(Shedding::parse("collections=all"), Ok(Shedding::All));
        let wrong = |text: &str| Shedding::parse(text).unwrap_err();
        let (at, problem) = wrong("collections=some");
        assert_eq!(
            (at, &problem[..]),
            (12, "collections is \"some\", not full or all")
        );
        assert_eq!(wrong("hold=1ms").0, 0);
    }

    #[test]
    fn who_came_before_is_waited_for_and_who_comes_later_is_turned_away() {
        let mut door = Door::new(Shedding::Full, vec![10, 20, 30, 60]);
        door.collect(CollectionKind::MarkCompact, 0, 25);
        assert_eq!(door.takes_ns(7, 5), 2);
        door.collected();
        assert_eq!(door.open_again(28), 28, "two are not answered");
        door.answer(0);
        assert!(door.turns_away(2, 30), "it came when nobody was let in");
        assert!(!door.turns_away(3, 30), "it is still to come");
        door.answer(1);
        assert_eq!(door.open_again(50), 55);
        assert!(!door.turns_away(3, 60));
        assert_eq!(door.open_again(70), 70);
        assert_eq!(
            door.closed,
            [Closed {
                from_ns: 25,
                to_ns: 55
            }]
        );
    }

    #[test]
    fn a_collection_that_does_not_wait_is_done_where_it_is() {
        let mut door = Door::new(Shedding::Full, vec![10]);
        assert!(!door.puts_off(CollectionKind::Scavenge, 4, 5));
        assert!(door.puts_off(CollectionKind::IncrementalMarking, 4, 5));
        assert_eq!(door.open_again(9), 9, "marking alone turns nobody away");
        assert!(door.puts_off(CollectionKind::MarkCompact, 6, 9));
        assert_eq!(
            door.open_again(9),
            19,
            "with what was to be marked before it"
        );
    }
}
