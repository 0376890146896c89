//! The second pass: every path, summed by class, route, resource and culprit.
//!
//! Only sums are kept, so memory depends on the number of routes and resources, which is bounded,
//! and not on the number of requests.

use std::collections::{BTreeMap, BTreeSet};

use bobtail_graph::{
    CulpritKind, Graph, Options, PoolPart, RequestPath, Resource, Segment, SegmentKind, Walks,
    Window,
};
use bobtail_trace::record::{Record, StringId};

use crate::blame::{Blame, Who};
use crate::idle::Idle;
use crate::names::{Name, Names, Numbered, Translation};
use crate::population::Population;
use crate::report::Class;
use crate::resources::Resources;
use crate::strings::Strings;
use crate::survey::Survey;

const ROUTES: usize = 1000;
const RESOURCES: usize = 1000;
const LOCATIONS: usize = 10_000;
/// A culprit that had less than this share of a request's queue time is one of a crowd.
const CROWD_SHARE: u64 = 10;

/// Sums over requests of a route and class.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    pub count: u64,
    pub latency_ns: u64,
    pub io_ns: u64,
    pub queue_ns: u64,
    pub exec_ns: u64,
    pub unattributed_ns: u64,
    pub gc_ns: u64,
    /// Of queue: nothing ran on the loop.
    pub loop_ns: u64,
    pub paper_ns: u64,
    /// Of queue: behind callbacks none of which took a tenth of it.
    pub crowd_ns: u64,
    /// Of queue: behind callbacks of the request itself.
    pub own_queue_ns: u64,
}

impl Sums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.latency_ns += other.latency_ns;
        self.io_ns += other.io_ns;
        self.queue_ns += other.queue_ns;
        self.exec_ns += other.exec_ns;
        self.unattributed_ns += other.unattributed_ns;
        self.gc_ns += other.gc_ns;
        self.loop_ns += other.loop_ns;
        self.paper_ns += other.paper_ns;
        self.crowd_ns += other.crowd_ns;
        self.own_queue_ns += other.own_queue_ns;
    }

    fn of(path: &RequestPath, idle: &Idle) -> Self {
        let mut sums = Self {
            count: 1,
            latency_ns: path.latency_ns,
            paper_ns: path.paper_sum_ns,
            gc_ns: path.gc_ns(),
            ..Self::default()
        };
        for segment in &path.segments {
            *match segment.kind {
                SegmentKind::Io => &mut sums.io_ns,
                SegmentKind::Queue => &mut sums.queue_ns,
                SegmentKind::Exec => &mut sums.exec_ns,
                SegmentKind::Unattributed => &mut sums.unattributed_ns,
            } += segment.duration_ns;
            if segment.kind == SegmentKind::Queue {
                let end_ns = segment.start_ns + segment.duration_ns;
                sums.loop_ns += idle.within_ns(segment.start_ns, end_ns);
            }
        }
        sums
    }
}

/// Sums over waits for one resource by one class.
#[derive(Debug, Clone, Default)]
pub(crate) struct IoSums {
    pub requests: u64,
    last_request: u64,
    pub io_ns: u64,
    pub pool_wait_ns: u64,
    pub pool_run_ns: u64,
    pub shared_ns: u64,
}

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
    /// Locations, and routes of culprits.
    pub(crate) places: Names,
    pub(crate) sums: BTreeMap<(Name, Class), Sums>,
    pub(crate) io: BTreeMap<IoKey, IoSums>,
    pub(crate) blame: Blame,
    pub(crate) inferred: u64,
    pub(crate) truncated: u64,
    /// Ports at which one of the traces' loops listens.
    pub(crate) ports: BTreeSet<u16>,
    requests: u64,
    traces: u32,
}

impl Aggregate {
    /// Nothing yet.
    #[allow(clippy::new_without_default, reason = "bounds are part of its meaning")]
    pub fn new() -> Self {
        Self {
            routes: Names::new(ROUTES),
            resources: Resources::new(RESOURCES),
            places: Names::new(LOCATIONS),
            sums: BTreeMap::new(),
            io: BTreeMap::new(),
            blame: Blame::default(),
            inferred: 0,
            truncated: 0,
            ports: BTreeSet::new(),
            requests: 0,
            traces: 0,
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
    let options = Options {
        walks: Walks::All,
        culprits_from_ns: population.tail.threshold_ns,
        ..Options::default()
    };
    let mut graph = Graph::new(options);
    aggregate.traces += 1;
    let places = survey.listening.iter().filter_map(|id| strings.get(*id));
    aggregate
        .ports
        .extend(places.filter_map(|place| place.parse::<u16>().ok()));
    let mut adding = Adding {
        aggregate,
        strings,
        survey,
        idle: Idle::default(),
        threshold_ns: population.tail.threshold_ns,
        routes: Translation::default(),
        resources: Translation::default(),
        places: Translation::default(),
    };
    for record in records {
        let record = record?;
        adding.idle.see(&record);
        graph.push(record, &mut |path: &RequestPath, _: Window<'_>| {
            adding.add(path)
        });
    }
    graph.finish(&mut |path: &RequestPath, _: Window<'_>| adding.add(path));
    Ok(())
}

struct Adding<'a, S: ?Sized> {
    aggregate: &'a mut Aggregate,
    strings: &'a S,
    survey: &'a Survey,
    idle: Idle,
    threshold_ns: u64,
    routes: Translation,
    resources: Translation,
    places: Translation,
}

impl<S: Strings + ?Sized> Adding<'_, S> {
    fn add(&mut self, path: &RequestPath) {
        if self
            .survey
            .trace
            .warmup_end_ns
            .is_some_and(|end| path.source_ns < end)
        {
            return;
        }
        let all = &mut *self.aggregate;
        all.requests += 1;
        all.inferred += u64::from(path.inferred_hops > 0);
        all.truncated += u64::from(path.truncated);
        let class = if path.latency_ns >= self.threshold_ns {
            Class::Tail
        } else {
            Class::Nontail
        };
        let mut sums = Sums::of(path, &self.idle);
        if class == Class::Tail {
            self.blame(path, &mut sums);
        }
        self.io(path, class);
        let all = &mut *self.aggregate;
        let route = self
            .routes
            .name(path.route, self.strings, &mut all.routes)
            .unwrap_or(0);
        all.sums.entry((route, class)).or_default().add(&sums);
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
            add_io(all.io.entry(key).or_default(), request, segment);
        }
    }

    /// Charges the culprits of a request of the tail.
    fn blame(&mut self, path: &RequestPath, sums: &mut Sums) {
        let crowd_below_ns = sums.queue_ns / CROWD_SHARE;
        for segment in &path.segments {
            for culprit in path.culprits_of(segment) {
                let callback = matches!(culprit.kind, CulpritKind::Event(_));
                if callback && culprit.duration_ns < crowd_below_ns {
                    sums.crowd_ns += culprit.duration_ns;
                }
                if callback && culprit.request == path.id {
                    sums.own_queue_ns += culprit.duration_ns;
                }
                let route = self.place(self.route_of(culprit.route));
                let location = self.place(culprit.location);
                let who = Who::new(culprit.kind, route, location);
                let all = &mut *self.aggregate;
                let event = (all.traces, culprit.event);
                all.blame.add(who, all.requests, event, culprit.duration_ns);
            }
        }
    }

    /// The culprit may not have had its route yet when it was in the way.
    fn route_of(&self, name: StringId) -> StringId {
        self.survey.routes.get(&name).copied().unwrap_or(name)
    }

    fn place(&mut self, id: StringId) -> Option<Name> {
        self.places
            .name(id, self.strings, &mut self.aggregate.places)
    }
}

fn add_io(sums: &mut IoSums, request: u64, segment: &Segment) {
    let ns = segment.duration_ns;
    sums.io_ns += ns;
    match segment.part {
        Some(PoolPart::Wait) => sums.pool_wait_ns += ns,
        Some(PoolPart::Run) => sums.pool_run_ns += ns,
        None => {}
    }
    if segment.shared {
        sums.shared_ns += ns;
    }
    if sums.last_request != request {
        sums.last_request = request;
        sums.requests += 1;
    }
}
