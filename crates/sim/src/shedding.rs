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
        let (key, value) = settings.split_once('=').unwrap_or((settings, ""));
        match (key, value) {
            ("", "") => Ok(Self::Full),
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
    /// What is done now is a collection that waits.
    is_put_off: bool,
    /// What those that wait take.
    due_ns: u64,
    /// Work that nobody has to do any more.
    pub(crate) spared_ns: u64,
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
            is_put_off: false,
            due_ns: 0,
            spared_ns: 0,
        }
    }

    /// How long a piece of work for a request takes, of which a part is a collection. `now` is when
    /// it begins.
    pub(crate) fn takes_ns(&mut self, request: u32, work_ns: u64, gc_ns: u64) -> u64 {
        if self.turns_away(request) {
            self.spared_ns += work_ns;
            return 0;
        }
        if !self.is_put_off {
            return work_ns;
        }
        self.due_ns += gc_ns;
        work_ns - gc_ns
    }

    /// A collection would begin in work for a request. Who is turned away asks for no memory.
    pub(crate) fn collect(&mut self, kind: CollectionKind, request: u32, now: Ns) {
        self.is_put_off = self.shedding.waits(kind) && !self.turns_away(request);
        if self.is_put_off && kind != CollectionKind::IncrementalMarking {
            self.closed_from_ns.get_or_insert(now);
        }
    }

    /// It would be over.
    pub(crate) fn collected(&mut self) {
        self.is_put_off = false;
    }

    /// A collection would be done before a callback; what of it is done there.
    pub(crate) fn lead_ns(&mut self, kind: CollectionKind, gc_ns: u64, now: Ns) -> u64 {
        self.collect(kind, NO_REQUEST, now);
        let left_ns = self.takes_ns(NO_REQUEST, gc_ns, gc_ns);
        self.collected();
        left_ns
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
            if !self.is_answered[request as usize] && !self.turns_away(request) {
                return now;
            }
            self.first_open += 1;
        }
        let to_ns = now + std::mem::take(&mut self.due_ns);
        self.closed.push(Closed { from_ns, to_ns });
        self.closed_from_ns = None;
        to_ns
    }

    /// Whether a request is turned away; from then on that is so.
    pub(crate) fn turns_away(&mut self, request: u32) -> bool {
        let Some(&told) = self.is_turned_away.get(request as usize) else {
            return false;
        };
        let comes_ns = self.comes_ns[request as usize];
        let (closed, since) = (&self.closed, self.closed_from_ns);
        let decide = || {
            let before = closed.partition_point(|one| one.from_ns <= comes_ns);
            let within = before > 0 && comes_ns < closed[before - 1].to_ns;
            within || since.is_some_and(|from_ns| from_ns <= comes_ns)
        };
        *self.is_turned_away[request as usize].insert(told.unwrap_or_else(decide))
    }

    /// When nobody was let in, and whether each request was turned away.
    pub(crate) fn finish(mut self, model: &Model) -> (Vec<Closed>, Vec<bool>) {
        let counted = model.requests.iter().zip(0..).filter(|one| one.0.counts);
        let each = counted.map(|(_, request)| self.turns_away(request));
        let each: Vec<bool> = each.collect();
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
        assert_eq!(door.takes_ns(0, 7, 5), 2);
        door.collected();
        assert_eq!(door.open_again(28), 28, "two are not answered");
        door.answer(0);
        assert_eq!(door.takes_ns(2, 9, 0), 0, "it came when nobody was let in");
        door.answer(1);
        assert_eq!(door.open_again(50), 55);
        assert_eq!(door.takes_ns(3, 9, 0), 9);
        assert_eq!(door.open_again(70), 70);
        assert_eq!((door.spared_ns, door.closed.len()), (9, 1));
    }

    #[test]
    fn a_collection_that_does_not_wait_is_done_where_it_is() {
        let mut door = Door::new(Shedding::Full, vec![10]);
        assert_eq!(door.lead_ns(CollectionKind::Scavenge, 4, 5), 4);
        assert_eq!(door.lead_ns(CollectionKind::IncrementalMarking, 4, 5), 0);
        assert_eq!(door.open_again(9), 9, "marking alone turns nobody away");
        assert_eq!(door.lead_ns(CollectionKind::MarkCompact, 6, 9), 0);
        assert_eq!(
            door.open_again(9),
            19,
            "with what was to be marked before it"
        );
    }
}
