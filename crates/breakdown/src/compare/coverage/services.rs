//! Services whose tails are made in different ways, to be recorded as often as one likes.

use bobtail_testkit::Random;

use crate::compare::blocks::BLOCKS;
use crate::compare::cell::Cell;
use crate::compare::route_cells::{Growing, RouteCells};

/// How the tail is made. Times are of the order of 1 ms, incidents of 20 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    /// Each request on its own, lognormal.
    Independent,
    /// So many incidents in 20,000 requests on average, each of which delays the next 5 to 50, as
    /// a collection does.
    Incidents(u32),
    /// Waiting in line for one server, who takes 20 ms for one request of 500.
    Queue,
    /// Twenty times in 20,000 requests everything is slow for about 600, which is a block of time.
    Phases,
}

const PER: f64 = 20_000.0;
/// Requests before the first that counts.
const SETTLING: usize = 2_000;
/// Where [`Cell::parts`] has the time that incidents cost.
const QUEUE: usize = 1;

struct Running {
    random: Random,
    service: Service,
    /// How severe incidents are, or how slow everything is where there are none.
    factor: f64,
    waiting_ms: f64,
    phase: (u32, f64),
    /// Severity, requests that were delayed, and that will be.
    incidents: Vec<(f64, u32, u32)>,
}

/// The latency and the delay in it of requests, in milliseconds.
pub(super) fn latencies(
    service: Service,
    factor: f64,
    seed: u64,
    count: usize,
) -> impl Iterator<Item = (f64, f64)> {
    let mut running = Running {
        random: Random::new(seed),
        service,
        factor,
        waiting_ms: 0.0,
        phase: (0, 1.0),
        incidents: Vec::new(),
    };
    (0..SETTLING).for_each(|_| _ = running.next());
    (0..count).map(move |_| running.next())
}

/// A recording of so many requests.
pub(super) fn record(service: Service, factor: f64, seed: u64, count: usize) -> RouteCells {
    let mut cells = Growing::default();
    let each = latencies(service, factor, seed, count).enumerate();
    for (index, (latency_ms, delay_ms)) in each {
        let mut cell = Cell {
            count: 1.0,
            latency_ns: latency_ms * 1e6,
            ..Cell::default()
        };
        cell.parts[QUEUE] = delay_ms * 1e6;
        cells.add(cell.latency_ns as u64, index * BLOCKS / count, &cell);
    }
    cells.finish()
}

impl Running {
    fn next(&mut self) -> (f64, f64) {
        match self.service {
            Service::Independent => (self.lognormal(1.0) * self.factor, 0.0),
            Service::Incidents(count) => self.after(|me| me.incidents_ms(f64::from(count))),
            Service::Queue => self.queued(),
            Service::Phases => self.after(Self::phase_ms),
        }
    }

    fn after(&mut self, delay: impl FnOnce(&mut Self) -> f64) -> (f64, f64) {
        let delay_ms = delay(self);
        (delay_ms + self.lognormal(0.5), delay_ms)
    }

    fn incidents_ms(&mut self, count: f64) -> f64 {
        if self.uniform() < count / PER {
            let severity_ms = 20.0 * self.lognormal(0.4) * self.factor;
            let victims = self.random.between(5, 50) as u32;
            self.incidents.push((severity_ms, 0, victims));
        }
        let mut delay_ms = 0.0;
        for (severity_ms, done, victims) in &mut self.incidents {
            delay_ms += *severity_ms * (1.0 - f64::from(*done) / f64::from(*victims));
            *done += 1;
        }
        self.incidents.retain(|(_, done, victims)| done < victims);
        delay_ms
    }

    fn phase_ms(&mut self) -> f64 {
        if self.phase.0 == 0 && self.random.once_in(1_000) {
            let length = 50.0 + self.exponential(550.0);
            self.phase = (length as u32, 2.0 * self.lognormal(0.3) * self.factor);
        }
        if self.phase.0 == 0 {
            return 0.0;
        }
        self.phase.0 -= 1;
        self.phase.1 * self.lognormal(0.5)
    }

    /// Lindley's recursion.
    fn queued(&mut self) -> (f64, f64) {
        let service_ms = if self.random.once_in(500) {
            20.0 * self.factor
        } else {
            self.exponential(0.3)
        };
        let waited_ms = self.waiting_ms;
        let latency_ms = waited_ms + service_ms;
        self.waiting_ms = (latency_ms - self.exponential(0.7)).max(0.0);
        (latency_ms, waited_ms)
    }

    fn uniform(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// Of median 1: Box and Muller's normal numbers.
    fn lognormal(&mut self, sigma: f64) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        (sigma * radius * (std::f64::consts::TAU * self.uniform()).cos()).exp()
    }
}
