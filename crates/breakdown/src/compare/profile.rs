//! One recording, summed by route, block of time and latency.
//!
//! Memory depends on how many routes, blocks and different latencies there are, all of which are
//! bounded, and not on how long the recording is.

use std::collections::HashMap;

use bobtail_graph::{
    Culprit as PathCulprit, Graph, Options, RequestPath, Resource, SegmentKind, Walks, Window,
};
use bobtail_trace::record::{CodePlace, Record};

use super::blocks::Blocks;
use super::cell::Cell;
use super::jackknife::left_out;
use super::ledger::Ledger;
use super::resampling::Weights;
use super::route_cells::{Growing, RouteCells};
use crate::blame::Who;
use crate::names::{LOCATIONS, Name, Names, Numbered, RESOURCES, ROUTES, Translation};
use crate::places::located;
use crate::population::Population;
use crate::resources::Resources;
use crate::strings::Strings;
use crate::survey::Survey;
use crate::trace_info::Measured;

/// A resource (`None` where only the kind of wait is known), and the kind of event that ended it.
pub(crate) type Wait = (Option<Name>, &'static str);

/// Everything that is known of one recording for a comparison.
#[derive(Debug, Clone)]
pub struct Profile {
    pub(crate) blocks: Blocks,
    pub(crate) routes: Names,
    pub(crate) resources: Resources,
    pub(crate) places: Names,
    /// By route.
    cells: Vec<Growing>,
    /// Requests of the tail, by route and block.
    tail: Vec<Vec<Cell>>,
    pub(crate) culprits: Ledger<Who>,
    pub(crate) waits: Ledger<Wait>,
    pub(crate) measured: Measured,
    pub(crate) threshold_ns: u64,
}

impl Profile {
    /// Of a recording that was surveyed, nothing yet.
    pub fn new(surveys: &[Survey], population: &Population) -> Self {
        let blocks = Blocks::of(surveys, population);
        Self {
            routes: Names::new(ROUTES),
            resources: Resources::new(RESOURCES),
            places: Names::new(LOCATIONS),
            cells: Vec::new(),
            tail: Vec::new(),
            culprits: Ledger::new(blocks.count()),
            waits: Ledger::new(blocks.count()),
            measured: Measured::ALL,
            threshold_ns: population.tail.threshold_ns,
            blocks,
        }
    }

    /// These routes are told by their names, however many there are before them.
    #[must_use]
    pub fn naming<'a>(mut self, routes: impl IntoIterator<Item = &'a str>) -> Self {
        for route in routes {
            self.routes.number(route);
        }
        self
    }

    /// The requests of a route; `None` when it has none.
    pub(crate) fn route(&self, text: &str) -> Option<RouteCells> {
        let cells = self.cells.get(self.routes.find(text)? as usize)?;
        (!cells.is_empty()).then(|| cells.finish())
    }

    /// Routes with requests: their names and the sum of their latencies.
    pub(crate) fn route_sums(&self) -> Vec<(&str, f64)> {
        let numbered = self.cells.iter().enumerate();
        let used = numbered.filter(|(_, cells)| !cells.is_empty());
        used.map(|(name, cells)| (self.routes.text(name as Name), cells.latency_ns()))
            .collect()
    }

    /// The requests of all routes.
    pub(crate) fn all(&self) -> RouteCells {
        let mut all = Growing::default();
        self.cells.iter().for_each(|cells| all.merge(cells));
        all.finish()
    }

    /// Requests of the tail of a route, or of all.
    pub(crate) fn tail(&self, route: Option<&str>, weights: &Weights) -> Cell {
        let wanted = route.map(|text| self.routes.find(text).map(|name| name as usize));
        let mut sum = Cell::default();
        for (name, blocks) in self.tail.iter().enumerate() {
            if wanted.is_some_and(|wanted| wanted != Some(name)) {
                continue;
            }
            let weighted = blocks.iter().zip(weights);
            weighted.for_each(|(cell, &weight)| sum.add(cell, f64::from(weight)));
        }
        sum
    }

    /// What statistics of this recording are computed under.
    pub(crate) fn weights(&self) -> Vec<Weights> {
        left_out(&self.occupied(), self.blocks.count())
    }

    /// Blocks with requests.
    pub(crate) fn occupied(&self) -> Vec<usize> {
        let mut seen = vec![false; self.blocks.count()];
        for cells in &self.cells {
            cells.blocks().for_each(|block| seen[block] = true);
        }
        (0..seen.len()).filter(|&block| seen[block]).collect()
    }
}

/// Adds one trace, of which `survey` is the survey.
pub fn profile<E>(
    profile: &mut Profile,
    records: impl IntoIterator<Item = Result<Record, E>>,
    strings: &(impl Strings + ?Sized),
    survey: &Survey,
) -> Result<(), E> {
    let mut graph = Graph::new(Options {
        walks: Walks::All,
        culprits_from_ns: profile.threshold_ns,
        ..Options::default()
    });
    profile.measured = profile.measured.and(survey.trace.measured);
    let mut adding = Adding {
        profile,
        strings,
        survey,
        routes: Translation::default(),
        resources: Translation::default(),
        culprit_routes: Translation::default(),
        places: HashMap::new(),
    };
    for record in records {
        graph.push(record?, &mut |path: &RequestPath, _: Window<'_>| {
            adding.add(path)
        });
    }
    graph.finish(&mut |path: &RequestPath, _: Window<'_>| adding.add(path));
    Ok(())
}

struct Adding<'a, S: ?Sized> {
    profile: &'a mut Profile,
    strings: &'a S,
    survey: &'a Survey,
    routes: Translation,
    resources: Translation,
    culprit_routes: Translation,
    places: HashMap<CodePlace, Name>,
}

impl<S: Strings + ?Sized> Adding<'_, S> {
    fn add(&mut self, path: &RequestPath) {
        let warmup_end_ns = self.survey.trace.warmup_end_ns;
        if warmup_end_ns.is_some_and(|end_ns| path.source_ns < end_ns) {
            return;
        }
        let cell = Cell::of(path);
        let block = self.profile.blocks.index(path.source_ns);
        let names = &mut self.profile.routes;
        let route = self
            .routes
            .name(path.route, self.strings, names)
            .unwrap_or(0) as usize;
        if self.profile.cells.len() <= route {
            let blocks = self.profile.blocks.count();
            self.profile.cells.resize(route + 1, Growing::default());
            self.profile
                .tail
                .resize(route + 1, vec![Cell::default(); blocks]);
        }
        self.profile.cells[route].add(path.latency_ns, block, &cell);
        if path.latency_ns >= self.profile.threshold_ns {
            self.profile.tail[route][block].add(&cell, 1.0);
            self.add_causes(path, block);
        }
    }

    fn add_causes(&mut self, path: &RequestPath, block: usize) {
        for segment in &path.segments {
            if segment.kind == SegmentKind::Io {
                let names = &mut self.profile.resources;
                let resource = match segment.resource {
                    Resource::Unnamed => None,
                    Resource::Client => Some(names.number("client")),
                    Resource::Named(id) => self.resources.name(id, self.strings, names),
                };
                let wait = (resource, segment.event_kind.word());
                let other = |(_, kind)| (Some(0), kind);
                let waits = &mut self.profile.waits;
                waits.add(wait, other, block, segment.duration_ns);
            }
            for culprit in path.culprits_of(segment) {
                let who = self.who(culprit);
                let culprits = &mut self.profile.culprits;
                culprits.add(who, Who::other, block, culprit.duration_ns);
            }
        }
    }

    fn who(&mut self, culprit: &PathCulprit) -> Who {
        // The culprit may not have had its route yet when it was in the way.
        let learned = self.survey.routes.get(&culprit.route);
        let route = learned.copied().unwrap_or(culprit.route);
        let names = &mut self.profile.places;
        let route = self.culprit_routes.name(route, self.strings, names);
        let names = &mut self.profile.resources;
        let resource = self.resources.name(culprit.resource, self.strings, names);
        Who::new(culprit.kind, route, self.place(culprit.location)).working_on(resource)
    }

    fn place(&mut self, place: CodePlace) -> Option<Name> {
        if let Some(&known) = self.places.get(&place) {
            return Some(known);
        }
        let located = located(place, self.strings)?;
        let name = self.profile.places.number(&located.location);
        self.places.insert(place, name);
        Some(name)
    }
}
