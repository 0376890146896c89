//! The second pass for the page: sums and curves by process, route and band of latency, who made
//! whom wait, and which requests are worth showing.
//!
//! The report tells tail from rest of all; the page lets one look at a part of it, so what the
//! report adds up in one sum is kept apart here, down to a bound of rows.

use std::collections::{BTreeMap, BTreeSet};

use bobtail_graph::{CulpritKind, RequestPath, Resource, SegmentKind};
use bobtail_trace::record::{CodePlace, RequestId, StringId};

use crate::blame::{Blame, Cause, Who};
use crate::names::{LOCATIONS, Name, Names, Numbered, RESOURCES, ROUTES, Translation};
use crate::page::bands::Bands;
use crate::page::curve::Curve;
use crate::places::{PlaceId, Places, PlacesOfTrace};
use crate::population::Population;
use crate::resources::Resources;
use crate::strings::Strings;
use crate::sums::{IoSums, Sums};
use crate::survey::Survey;

/// Pairs of a process and a route.
const PAIRS: usize = 20_000;
const ROUTES_PER_PROCESS_MIN: usize = 50;
/// Sums of waits; what comes after is of the resource `(other)`.
const WAITS: usize = 50_000;
const OTHER: Name = 0;

/// A request, by the position of its trace and its number there.
pub(crate) type Which = (usize, RequestId);

/// Waits of the requests of a cell for a resource (`None` where only the kind is known), ended by
/// an event of a kind.
pub(crate) type Wait = ((usize, Name, u8), Option<Name>, &'static str);

/// Everything that is kept apart.
#[derive(Debug, Clone)]
pub struct Tally {
    pub(crate) bands: Bands,
    pub(crate) threshold_ns: u64,
    pub(crate) routes: Names,
    pub(crate) places: Places,
    /// Routes of culprits.
    pub(crate) culprit_routes: Names,
    pub(crate) cells: BTreeMap<(usize, Name, u8), Sums>,
    pub(crate) resources: Resources,
    pub(crate) waits: BTreeMap<Wait, IoSums>,
    pub(crate) curves: BTreeMap<(usize, Name), Curve>,
    /// Of the tail requests of a process, of one route and of all.
    pub(crate) blame: BTreeMap<(usize, Option<Name>), Blame>,
    /// One request for each route and band.
    pub(crate) examples: BTreeMap<(Name, u8), (u64, Which)>,
    requests: u64,
    routes_per_process: usize,
}

impl Tally {
    /// Nothing yet, of so many traces.
    pub fn new(population: &Population, traces: usize) -> Self {
        Self {
            bands: Bands::of(population),
            threshold_ns: population.tail.threshold_ns,
            routes: Names::new(ROUTES),
            places: Places::new(LOCATIONS),
            culprit_routes: Names::new(LOCATIONS),
            cells: BTreeMap::new(),
            resources: Resources::new(RESOURCES),
            waits: BTreeMap::new(),
            curves: BTreeMap::new(),
            blame: BTreeMap::new(),
            examples: BTreeMap::new(),
            requests: 0,
            routes_per_process: (PAIRS / traces.max(1)).max(ROUTES_PER_PROCESS_MIN),
        }
    }

    /// Counts the requests of one trace.
    pub fn of_trace<'a, S: Strings + ?Sized>(
        &'a mut self,
        trace: usize,
        strings: &'a S,
        survey: &'a Survey,
    ) -> Counting<'a, S> {
        Counting {
            tally: self,
            trace,
            strings,
            survey,
            routes_seen: BTreeSet::new(),
            routes: Translation::default(),
            resources: Translation::default(),
            culprit_routes: Translation::default(),
            places: PlacesOfTrace::default(),
        }
    }
}

/// See [`Tally::of_trace`].
pub struct Counting<'a, S: ?Sized> {
    tally: &'a mut Tally,
    trace: usize,
    strings: &'a S,
    survey: &'a Survey,
    routes_seen: BTreeSet<Name>,
    routes: Translation,
    resources: Translation,
    culprit_routes: Translation,
    places: PlacesOfTrace,
}

impl<S: Strings + ?Sized> Counting<'_, S> {
    /// Counts a walked path that is no warm-up.
    pub fn see(&mut self, path: &RequestPath) {
        let route = self.route(path.route);
        let mut sums = Sums::of(path, self.survey);
        if self.survey.is_early(path.source_ns) {
            sums.early_jit_ns = sums.work.jit_ns;
        }
        let all = &mut *self.tally;
        if path.latency_ns >= all.threshold_ns {
            sums.part_queue(path);
        }
        all.requests += 1;
        let band = all.bands.of_latency(path.latency_ns);
        all.cells
            .entry((self.trace, route, band))
            .or_default()
            .add(&sums);
        all.curves
            .entry((self.trace, route))
            .or_default()
            .add(path.latency_ns);
        let which = (self.trace, path.id);
        let candidate = (scatter(which), which);
        let example = all.examples.entry((route, band)).or_insert(candidate);
        *example = candidate.min(*example);
        if path.latency_ns >= all.threshold_ns {
            self.blame(path, route);
        }
        self.wait(path, (self.trace, route, band));
    }

    /// Adds up what a request waited for, as the report does.
    fn wait(&mut self, path: &RequestPath, cell: (usize, Name, u8)) {
        for segment in path.segments.iter().filter(|s| s.kind == SegmentKind::Io) {
            let all = &mut *self.tally;
            let resource = match segment.resource {
                Resource::Unnamed => None,
                Resource::Client => Some(all.resources.number("client")),
                Resource::Named(id) => self.resources.name(id, self.strings, &mut all.resources),
            };
            let kind = segment.event_kind.word();
            let key = (cell, resource, kind);
            let full = all.waits.len() >= WAITS && !all.waits.contains_key(&key);
            let key = if full { (cell, Some(OTHER), kind) } else { key };
            all.waits.entry(key).or_default().add(all.requests, segment);
        }
    }

    fn route(&mut self, id: StringId) -> Name {
        let routes = &mut self.tally.routes;
        let route = self.routes.name(id, self.strings, routes).unwrap_or(OTHER);
        if self.routes_seen.contains(&route) {
            return route;
        }
        if self.routes_seen.len() >= self.tally.routes_per_process {
            return OTHER;
        }
        self.routes_seen.insert(route);
        route
    }

    /// Charges the culprits of a request of the tail, as the report does.
    fn blame(&mut self, path: &RequestPath, victim: Name) {
        for segment in &path.segments {
            for culprit in path.culprits_of(segment) {
                let learned = self.survey.routes.get(&culprit.route).copied();
                let route = self.culprit_route(learned.unwrap_or(culprit.route));
                let place = self.place(culprit.location);
                let line = place.map(|id| self.tally.places.get(id).line);
                let resources = &mut self.tally.resources;
                let resource = self
                    .resources
                    .name(culprit.resource, self.strings, resources);
                let who = Who::new(culprit.kind, route, line).working_on(resource);
                let number = match culprit.kind {
                    CulpritKind::Gc(..) => culprit.collection,
                    _ => culprit.event,
                };
                let event = (self.trace as u32, number);
                let cause = Cause { event, place };
                let all = &mut *self.tally;
                for of in [None, Some(victim)] {
                    let blame = all.blame.entry((self.trace, of)).or_default();
                    blame.add(who, all.requests, cause, culprit.duration_ns);
                }
            }
        }
    }

    fn culprit_route(&mut self, id: StringId) -> Option<Name> {
        let names = &mut self.tally.culprit_routes;
        self.culprit_routes.name(id, self.strings, names)
    }

    fn place(&mut self, place: CodePlace) -> Option<PlaceId> {
        let places = &mut self.tally.places;
        self.places.place(place, self.strings, places)
    }
}

/// A number that has nothing to do with when a request came, so that the lowest of many is an
/// example and not the first (the finalizer of SplitMix64).
fn scatter((trace, request): Which) -> u64 {
    let mut mixed = ((trace as u64) << 32 | u64::from(request)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
