//! What to do about one route: the findings of the report, over the tail requests of that route.
//!
//! The lints are the same; they are given the sums of the route instead of those of all, so that
//! what is cheap for the tail as a whole and all of a rare route's latency is told to whom it
//! concerns.

use std::collections::BTreeMap;

use crate::findings::{self, Evidence};
use crate::names::Name;
use crate::page::Page;
use crate::page::rows::AdviceRow;
use crate::report::{Class, Culprit, CulpritKind, Finding, Io, Report, Tail};
use crate::sums::{IoSums, Sums};

/// Routes with most time in the tail that have advice of their own.
const ROUTES_ADVISED: usize = 50;

/// What tells culprits apart.
type Key = (CulpritKind, Option<String>, String, Option<String>);

impl Page {
    /// For the shown routes with requests in the tail.
    pub(super) fn advice(&self, report: &Report) -> Vec<AdviceRow> {
        let mut routes: Vec<_> = (1..self.routes.len())
            .map(|place| (place, self.sums_of(self.routes[place], Class::Tail)))
            .filter(|(_, sums)| sums.count > 0)
            .collect();
        routes.sort_by_key(|(place, sums)| (std::cmp::Reverse(sums.latency_ns), *place));
        routes.truncate(ROUTES_ADVISED);
        let rows = routes.into_iter().map(|(place, sums)| AdviceRow {
            route: place,
            findings: self.findings(report, self.routes[place], &sums),
        });
        rows.collect()
    }

    fn findings(&self, report: &Report, route: Name, tail_sums: &Sums) -> Vec<Finding> {
        let tail = Tail {
            count: tail_sums.count,
            ..report.tail.clone()
        };
        let evidence = Evidence {
            requests: &report.requests,
            tail: &tail,
            tail_sums,
            rest_sums: &self.sums_of(route, Class::Nontail),
            io: &self.io_of(report, route, tail_sums.count),
            culprits: &self.culprits_of(route),
            pauses: &report.pauses,
            heaps: &self.heaps.iter().collect::<Vec<_>>(),
            throttled: self.throttled,
            duration_ns: report.run.duration_ns,
            unnamed: 0,
            losses: &report.losses,
            loop_only: report.run.detail == "loop",
        };
        let mut findings = findings::all(&evidence);
        // What is said about the recording as a whole is said of all routes.
        findings.retain(|finding| finding.impact_ns > 0);
        findings
    }

    fn class_of(&self, band: u8) -> Class {
        let borders = self.tally.bands.borders();
        let reached = borders.iter().take(usize::from(band));
        let mut latencies = reached.map(|&(_, from_ns)| from_ns);
        match latencies.any(|from_ns| from_ns >= self.tally.threshold_ns) {
            true => Class::Tail,
            false => Class::Nontail,
        }
    }

    fn sums_of(&self, route: Name, class: Class) -> Sums {
        let mut total = Sums::default();
        for (&(_, name, band), sums) in &self.tally.cells {
            if name == route && self.class_of(band) == class {
                total.add(sums);
            }
        }
        total
    }

    fn io_of(&self, report: &Report, route: Name, count: u64) -> Vec<Io> {
        let mut waits: BTreeMap<(Option<Name>, &'static str), IoSums> = BTreeMap::new();
        for (&((_, name, band), resource, kind), sums) in &self.tally.waits {
            if name == route && self.class_of(band) == Class::Tail {
                waits.entry((resource, kind)).or_default().merge(sums);
            }
        }
        let own = |resource: &str| {
            report
                .io
                .iter()
                .any(|io| io.own_service && io.resource == resource)
        };
        let mean = |sum: u64| sum / count.max(1);
        let rows = waits.into_iter().map(|((name, kind), sums)| {
            let resource = name.map_or(kind, |name| self.tally.resources.text(name));
            Io {
                class: Class::Tail,
                own_service: own(resource),
                resource: resource.into(),
                kind: kind.into(),
                requests: sums.requests,
                io_ns: mean(sums.io_ns),
                pool_wait_ns: mean(sums.pool_wait_ns),
                pool_run_ns: mean(sums.pool_run_ns),
                shared_ns: mean(sums.shared_ns),
            }
        });
        rows.collect()
    }

    /// Of all processes, the most inflicting first.
    fn culprits_of(&self, route: Name) -> Vec<Culprit> {
        let tally = &self.tally;
        let mut merged: BTreeMap<Key, Culprit> = BTreeMap::new();
        for ((_, victim), blame) in &tally.blame {
            if *victim != Some(route) {
                continue;
            }
            for row in blame.ranked(&tally.culprit_routes, &tally.places, &tally.resources) {
                let one = row.culprit;
                let key = (
                    one.kind,
                    one.route.clone(),
                    one.word.clone(),
                    one.location.clone(),
                );
                let Some(sum) = merged.get_mut(&key) else {
                    merged.insert(key, one);
                    continue;
                };
                sum.inflicted_ns += one.inflicted_ns;
                sum.victims += one.victims;
                sum.occurrences += one.occurrences;
                sum.longest_ns = sum.longest_ns.max(one.longest_ns);
            }
        }
        let mut culprits: Vec<_> = merged.into_values().collect();
        culprits.sort_by_key(|culprit| std::cmp::Reverse(culprit.inflicted_ns));
        culprits
    }
}
