//! Culprits by what one could change: a route and location, a kind of collection, the loop itself.

use std::collections::{BTreeMap, BTreeSet};

use bobtail_graph::CulpritKind as GraphCulpritKind;
use bobtail_trace::record::{EventId, GcCause};

use crate::names::{Name, Names};
use crate::places::{PlaceId, Places};
use crate::report::{Culprit, CulpritKind};
use crate::resources::Resources;

/// Rows kept; what comes after is added to one row of its kind.
const ROWS: usize = 10_000;
/// Events remembered per row, to count each once though many victims name it.
const EVENTS_REMEMBERED: usize = 256;
/// Places remembered per row, to tell the one that cost most.
const PLACES_REMEMBERED: usize = 256;

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Who {
    pub kind: CulpritKind,
    pub route: Option<Name>,
    pub word: &'static str,
    /// A line of a function ([`Places`]).
    pub line: Option<Name>,
    /// What a job worked on ([`Resources`]).
    pub resource: Option<Name>,
}

impl Who {
    /// Route and location only say something about callbacks and collections that were asked for;
    /// of a job, which is started from one place, the location is no part of its name.
    pub(crate) fn new(kind: GraphCulpritKind, route: Option<Name>, line: Option<Name>) -> Self {
        let kind_word = kind.word();
        let of = |kind, route, line| Self {
            kind,
            route,
            word: kind_word,
            line,
            resource: None,
        };
        match kind {
            GraphCulpritKind::Event(_) => of(CulpritKind::Event, route, line),
            GraphCulpritKind::Gc(_, GcCause::Asked) => of(CulpritKind::Gc, route, line),
            GraphCulpritKind::Gc(..) => of(CulpritKind::Gc, None, None),
            GraphCulpritKind::Job => of(CulpritKind::Job, route, None),
            GraphCulpritKind::NotRunning(_) => of(CulpritKind::Cpu, None, None),
            GraphCulpritKind::Poll | GraphCulpritKind::Between | GraphCulpritKind::Lost => {
                of(CulpritKind::Loop, None, None)
            }
        }
    }

    /// The same of a job, with what it worked on.
    pub(crate) fn working_on(self, resource: Option<Name>) -> Self {
        Self { resource, ..self }
    }

    /// What all of its kind are summed under that are too many to be told apart.
    pub(crate) fn other(self) -> Self {
        Self {
            route: Some(0),
            line: None,
            resource: self.resource.map(|_| 0),
            ..self
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Row {
    inflicted_ns: u64,
    victims: u64,
    last_victim: u64,
    occurrences: u64,
    events: BTreeSet<(u32, EventId)>,
    longest_ns: u64,
    places: PlaceTimes,
}

impl Row {
    fn charge(&mut self, victim: u64, ns: u64) {
        self.inflicted_ns += ns;
        self.longest_ns = self.longest_ns.max(ns);
        if self.last_victim != victim {
            self.last_victim = victim;
            self.victims += 1;
        }
    }
}

/// Time by place in code, of a bounded number of places.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlaceTimes {
    ns: BTreeMap<PlaceId, u64>,
}

impl PlaceTimes {
    pub(crate) fn add(&mut self, place: PlaceId, ns: u64) {
        let full = self.ns.len() >= PLACES_REMEMBERED;
        if let Some(sum_ns) = self.ns.get_mut(&place) {
            *sum_ns += ns;
        } else if !full {
            self.ns.insert(place, ns);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other
            .ns
            .iter()
            .for_each(|(place, ns)| self.add(*place, *ns));
    }

    /// The place that cost most, of equal ones that which was seen first.
    pub(crate) fn main(&self) -> Option<PlaceId> {
        let by_time = |(place, ns): &(&PlaceId, &u64)| (**ns, std::cmp::Reverse(**place));
        self.ns.iter().max_by_key(by_time).map(|(place, _)| *place)
    }
}

/// A row with what it is summed under.
#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    pub culprit: Culprit,
    pub line: Option<Name>,
    pub places: PlaceTimes,
}

/// What was in the way: of a trace its event or collection by number, and where in code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause {
    pub event: (u32, EventId),
    pub place: Option<PlaceId>,
}

/// All rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blame {
    rows: BTreeMap<Who, Row>,
    /// Collections by their words, whoever asked for them.
    collections: BTreeMap<&'static str, Row>,
}

impl Blame {
    /// Charges a stretch to a row. `victim` numbers the requests of all traces; an event or a
    /// collection is named by its trace and its number there. The loop itself and not running have
    /// neither: their stretches are counted.
    pub(crate) fn add(&mut self, who: Who, victim: u64, by: Cause, ns: u64) {
        let Cause { event, place } = by;
        let full = self.rows.len() >= ROWS && !self.rows.contains_key(&who);
        let who = if full { who.other() } else { who };
        if who.kind == CulpritKind::Gc {
            let row = self.collections.entry(who.word).or_default();
            row.charge(victim, ns);
        }
        let row = self.rows.entry(who).or_default();
        row.charge(victim, ns);
        if let Some(place) = place.filter(|_| who.line.is_some() || who.kind == CulpritKind::Job) {
            row.places.add(place, ns);
        }
        if matches!(who.kind, CulpritKind::Loop | CulpritKind::Cpu) {
            row.occurrences += 1;
            return;
        }
        let forgotten = row.events.len() >= EVENTS_REMEMBERED
            && row.events.first().is_some_and(|first| event < *first);
        if !forgotten && row.events.insert(event) {
            row.occurrences += 1;
            if row.events.len() > EVENTS_REMEMBERED {
                row.events.pop_first();
            }
        }
    }

    /// What collections of a kind inflicted on how many victims.
    pub(crate) fn of_collections(&self, word: &'static str) -> (u64, u64) {
        self.collections
            .get(word)
            .map_or((0, 0), |row| (row.inflicted_ns, row.victims))
    }

    /// Rows by what they inflicted, most first.
    pub(crate) fn ranked(
        &self,
        names: &Names,
        places: &Places,
        resources: &Resources,
    ) -> Vec<Ranked> {
        let text = |name: Option<Name>| name.map(|n| names.text(n).to_owned());
        let ranked = |(who, row): (&Who, &Row)| {
            let place = row.places.main().map(|id| places.get(id));
            let culprit = Culprit {
                kind: who.kind,
                route: text(who.route),
                word: who
                    .resource
                    .map_or(who.word, |name| resources.text(name))
                    .into(),
                location: place.map(|place| place.located.location.clone()),
                generated_location: place.and_then(|place| place.located.generated.clone()),
                inflicted_ns: row.inflicted_ns,
                victims: row.victims,
                occurrences: row.occurrences,
                longest_ns: row.longest_ns,
            };
            Ranked {
                culprit,
                line: who.line,
                places: row.places.clone(),
            }
        };
        let mut rows: Vec<_> = self.rows.iter().map(ranked).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.culprit.inflicted_ns));
        rows
    }
}
