//! The second pass: every path, summed by class, route, resource and culprit.
//!
//! Only sums are kept, so memory depends on the number of routes and resources, which is bounded,
//! and not on the number of requests.

use std::collections::{BTreeMap, BTreeSet};

use bobtail_graph::{
    Collection, CulpritKind, Graph, Options, RequestPath, Resource, Running, SegmentKind, Walks,
    Window,
};
use bobtail_trace::record::{CodePlace, Ns, Record, StringId};

use crate::blame::{Blame, Cause, Who};
use crate::longest_pauses::{Watched, Watching};
use crate::names::{LOCATIONS, Name, Names, Numbered, RESOURCES, ROUTES, Translation, UNNAMED};
use crate::pauses::Pauses;
use crate::places::{PlaceId, Places, PlacesOfTrace, located};
use crate::population::Population;
use crate::report::{Class, Inside};
use crate::resources::Resources;
use crate::strings::Strings;
use crate::sums::{IoSums, ProcessSums, Sums};
use crate::survey::Survey;

/// A resource, and the kind of event that ended the wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IoKey {
    pub class: Class,
    pub resource: Option<Name>,
    pub kind: &'static str,
}

/// Everything the second pass adds up, over all traces.
#[derive(Debug, Clone)]
pub struct Aggregate {
    pub(crate) routes: Names,
    pub(crate) resources: Resources,
    pub(crate) places: Places,
    /// Routes of culprits.
    pub(crate) culprit_routes: Names,
    pub(crate) sums: BTreeMap<(Name, Class), Sums>,
    /// One for each trace, in their order.
    pub(crate) processes: Vec<ProcessSums>,
    pub(crate) pauses: Pauses,
    /// The longest collections, by trace.
    pub(crate) watched: Vec<Watched>,
    pub(crate) io: BTreeMap<IoKey, IoSums>,
    pub(crate) blame: Blame,
    pub(crate) truncated: u64,
    /// Ports at which one of the traces' loops listens.
    pub(crate) ports: BTreeSet<u16>,
    requests: u64,
}

impl Aggregate {
    /// Nothing yet.
    #[allow(clippy::new_without_default, reason = "bounds are part of its meaning")]
    pub fn new() -> Self {
        Self {
            routes: Names::new(ROUTES),
            resources: Resources::new(RESOURCES),
            places: Places::new(LOCATIONS),
            culprit_routes: Names::new(LOCATIONS),
            sums: BTreeMap::new(),
            processes: Vec::new(),
            pauses: Pauses::default(),
            watched: Vec::new(),
            io: BTreeMap::new(),
            blame: Blame::default(),
            truncated: 0,
            ports: BTreeSet::new(),
            requests: 0,
        }
    }
}

/// Adds one trace, of which `survey` is the survey.
pub fn aggregate<E>(
    aggregate: &mut Aggregate,
    records: impl IntoIterator<Item = Result<Record, E>>,
    strings: &(impl Strings + ?Sized),
    survey: &Survey,
    population: &Population,
) -> Result<(), E> {
    aggregate_and(aggregate, records, strings, survey, population, |_| {})
}

/// The same; `also` sees every request that is counted.
pub fn aggregate_and<E>(
    aggregate: &mut Aggregate,
    records: impl IntoIterator<Item = Result<Record, E>>,
    strings: &(impl Strings + ?Sized),
    survey: &Survey,
    population: &Population,
    mut also: impl FnMut(&RequestPath),
) -> Result<(), E> {
    let options = Options {
        walks: Walks::All,
        culprits_from_ns: population.tail.threshold_ns,
        ..Options::default()
    };
    let mut graph = Graph::new(options);
    aggregate.processes.push(ProcessSums {
        pid: survey.trace.pid,
        thread: survey.trace.thread,
        tail: Sums::default(),
        nontail: Sums::default(),
    });
    let places = survey.listening.iter().filter_map(|id| strings.get(*id));
    aggregate
        .ports
        .extend(places.filter_map(|place| place.parse::<u16>().ok()));
    let trace = aggregate.processes.len() - 1;
    let mut adding = Adding {
        watching: Watching::new(trace, &population.pauses),
        aggregate,
        strings,
        survey,
        threshold_ns: population.tail.threshold_ns,
        routes: Translation::default(),
        resources: Translation::default(),
        culprit_routes: Translation::default(),
        places: PlacesOfTrace::default(),
    };
    for record in records {
        let record = record?;
        adding.see(&record);
        let ends = ends_event(&record);
        graph.push(record, &mut |path: &RequestPath, window: Window<'_>| {
            adding.add(path, window, &mut also)
        });
        if ends && adding.watching.has_unplaced() {
            adding.place_pauses(&graph);
        }
    }
    graph.finish(&mut |path: &RequestPath, window: Window<'_>| adding.add(path, window, &mut also));
    adding.place_pauses(&graph);
    let watched = std::mem::take(&mut adding.watching).seen();
    aggregate.watched.extend(watched);
    Ok(())
}

/// Whether no event is open after a record that does not begin one.
fn ends_event(record: &Record) -> bool {
    matches!(
        record,
        Record::LoopEnd { .. } | Record::LoopBegin { .. } | Record::Poll { .. }
    )
}

struct Adding<'a, S: ?Sized> {
    aggregate: &'a mut Aggregate,
    watching: Watching,
    strings: &'a S,
    survey: &'a Survey,
    threshold_ns: u64,
    routes: Translation,
    resources: Translation,
    culprit_routes: Translation,
    places: PlacesOfTrace,
}

impl<S: Strings + ?Sized> Adding<'_, S> {
    fn is_warmup(&self, time_ns: Ns) -> bool {
        let warmup_end_ns = self.survey.trace.warmup_end_ns;
        warmup_end_ns.is_some_and(|end_ns| time_ns < end_ns)
    }

    fn see(&mut self, record: &Record) {
        if let Some(pause) = Collection::told_by(record) {
            self.watching.see(pause);
            if !self.is_warmup(pause.begin_ns) {
                self.aggregate.pauses.add(&pause);
            }
        }
    }

    /// Finds out what the collections interrupted that were seen lately, now that it has ended.
    fn place_pauses(&mut self, graph: &Graph) {
        let mut watching = std::mem::take(&mut self.watching);
        watching.place(|pause| {
            let running = graph.running_at(pause.begin_ns)?;
            Some(self.inside(&running, pause))
        });
        self.watching = watching;
    }

    fn inside(&self, running: &Running, pause: &Collection) -> Inside {
        // It may not have had its route yet.
        let known = self.survey.routes.get(&running.route).copied();
        let route = self.strings.get(known.unwrap_or(running.route));
        let who = Who::new(running.kind, None, None);
        let asked = located(pause.caller, self.strings);
        let sampled = || located(running.location, self.strings);
        Inside {
            kind: who.kind,
            route: route.map(str::to_owned),
            word: who.word.into(),
            location: asked.or_else(sampled).map(|place| place.location),
        }
    }

    fn add(&mut self, path: &RequestPath, window: Window<'_>, also: &mut impl FnMut(&RequestPath)) {
        if self.is_warmup(path.source_ns) {
            return;
        }
        also(path);
        let all = &mut *self.aggregate;
        all.requests += 1;
        all.truncated += u64::from(path.truncated);
        let class = if path.latency_ns >= self.threshold_ns {
            Class::Tail
        } else {
            Class::Nontail
        };
        let mut sums = Sums::of(path, self.survey);
        if self.survey.is_early(path.source_ns) {
            sums.early_jit_ns = sums.work.jit_ns;
        }
        if class == Class::Tail {
            sums.part_queue(path);
            self.blame(path);
        }
        self.watching.add(path, window, class);
        self.io(path, class);
        let all = &mut *self.aggregate;
        let route = self
            .routes
            .name(path.route, self.strings, &mut all.routes)
            .unwrap_or(UNNAMED);
        all.sums.entry((route, class)).or_default().add(&sums);
        if let Some(process) = all.processes.last_mut() {
            match class {
                Class::Tail => process.tail.add(&sums),
                Class::Nontail => process.nontail.add(&sums),
            }
        }
    }

    fn io(&mut self, path: &RequestPath, class: Class) {
        for segment in path.segments.iter().filter(|s| s.kind == SegmentKind::Io) {
            let all = &mut *self.aggregate;
            let resource = match segment.resource {
                Resource::Unnamed => None,
                Resource::Client => Some(all.resources.number("client")),
                Resource::Named(id) => self.resources.name(id, self.strings, &mut all.resources),
            };
            let key = IoKey {
                class,
                resource,
                kind: segment.event_kind.word(),
            };
            let request = all.requests;
            all.io.entry(key).or_default().add(request, segment);
        }
    }

    /// Charges the culprits of a request of the tail.
    fn blame(&mut self, path: &RequestPath) {
        for segment in &path.segments {
            for culprit in path.culprits_of(segment) {
                let route = self.route_of(culprit.route);
                let place = self.place(culprit.location);
                let line = place.map(|id| self.aggregate.places.get(id).line);
                let all = &mut *self.aggregate;
                let resource =
                    self.resources
                        .name(culprit.resource, self.strings, &mut all.resources);
                let who = Who::new(culprit.kind, route, line).working_on(resource);
                let number = match culprit.kind {
                    CulpritKind::Gc(..) => culprit.collection,
                    _ => culprit.event,
                };
                let event = (all.processes.len() as u32, number);
                let cause = Cause { event, place };
                all.blame.add(who, all.requests, cause, culprit.duration_ns);
            }
        }
    }

    /// The culprit may not have had its route yet when it was in the way.
    fn route_of(&mut self, name: StringId) -> Option<Name> {
        let name = self.survey.routes.get(&name).copied().unwrap_or(name);
        let names = &mut self.aggregate.culprit_routes;
        self.culprit_routes.name(name, self.strings, names)
    }

    fn place(&mut self, place: CodePlace) -> Option<PlaceId> {
        let places = &mut self.aggregate.places;
        self.places.place(place, self.strings, places)
    }
}
