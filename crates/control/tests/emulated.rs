//! The imitated frequency on this machine: its speed, its latency, and that it leaves no trace.
//!
//! It needs real-time threads, as the experiments do that use it; without the right to them the
//! first test fails with the kernel's error, which says so.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bobtail_control::emulated::{Between, Emulated, Emulation};
use bobtail_control::gauge::{Effort, Gauge, WorkGauge};
use bobtail_control::topology::cpus_online;
use bobtail_control::{Actuator, Asked, ControlError, Host, LeverKind};
use bobtail_policy::Speed;
use same_gauge::SameGauge;

#[path = "support/same_gauge.rs"]
mod same_gauge;

/// Two imitations on one CPU would slow each other.
static ALONE: Mutex<()> = Mutex::new(());

fn last_cpu() -> u32 {
    cpus_online(&Host::default())
        .unwrap()
        .into_iter()
        .next_back()
        .unwrap()
}

/// What the host of this virtual machine took of its CPUs so far, in hundredths of a second.
fn stolen() -> u64 {
    let all = std::fs::read_to_string("/proc/stat").unwrap();
    let mut fields = all.lines().next().unwrap().split_ascii_whitespace();
    fields.nth(8).unwrap().parse().unwrap()
}

/// What did not come out right in one attempt.
struct Missed {
    why: String,
    /// The core was as fast throughout.
    is_even: bool,
}

/// Tries until something is there: twelve times, and for those in which the host took time or sped
/// the core up and down, which no lever can help, for as long as it is given. None where the
/// machine was not left alone for twelve until then.
fn attempt<T>(seconds: u64, mut one: impl FnMut() -> Result<T, Missed>) -> Option<T> {
    let mut fair = 0;
    let begin = std::time::Instant::now();
    while begin.elapsed().as_secs() < seconds {
        let before = stolen();
        let missed = match one() {
            Ok(there) => return Some(there),
            Err(missed) => missed,
        };
        fair += u32::from(missed.is_even && stolen() == before);
        assert!(fair < 12, "{fair} fair attempts: {}", missed.why);
    }
    None
}

/// What comes of a start as soon as nobody else on the machine imitates that CPU.
fn once_free(
    mut start: impl FnMut() -> Result<Emulated, ControlError>,
) -> Result<Emulated, ControlError> {
    loop {
        match start() {
            Err(ControlError::Unavailable { why, .. }) if why.contains("another bobtail") => {
                std::thread::sleep(Duration::from_millis(50));
            }
            outcome => return outcome,
        }
    }
}

fn start(emulation: Emulation) -> Emulated {
    let started = attempt(240, || {
        let start = || Emulated::start(&[last_cpu()], &Asked::default(), emulation);
        match once_free(start) {
            // Of a busy host no time may be told, and the speed is off all the same.
            Err(off @ ControlError::Off { .. }) => Err(Missed {
                why: off.to_string(),
                is_even: false,
            }),
            outcome => Ok(outcome.unwrap()),
        }
    });
    started.expect("a start that the host leaves alone")
}

/// Waits until a fact holds; the test hangs, and is ended with its name, if it never does.
fn wait_for(mut fact: impl FnMut() -> bool) {
    while !fact() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The one at this share of all.
fn at(share: f64, all: &mut [f64]) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all[(all.len() as f64 * share) as usize]
}

const TURNS: usize = 25;
/// In turns of a few ms: somebody on the other half of the core slows this one by a third from one
/// moment to the next, without any time taken, and what is measured across that tells nothing.
const GAUGE: WorkGauge = WorkGauge {
    run_ns: 8_000_000,
    runs: 1,
    priority: Some(20),
};
/// A core that is no faster than this at its best, against its worst, was left alone.
const SPREAD_MAX: f64 = 0.3;

/// How far a speed may be off, as the lever promises.
const TOLERANCE: f64 = 0.07;

fn rate() -> f64 {
    let rate = { GAUGE }.rate(LeverKind::Emulated, &[last_cpu()], Effort::Sustained);
    rate.unwrap()
}

fn spread(rates: &mut [f64]) -> f64 {
    at(0.9, rates) / at(0.1, rates) - 1.0
}

/// How fast 3.3 GHz and base are, of full speed, and how uneven full speed was meanwhile.
///
/// Each turn beside full speeds before and after it. The middle one of many turns counts.
fn speeds(lever: &mut Emulated) -> ([f64; 2], f64) {
    let mut rate_at = |speed| {
        lever.apply(speed).unwrap();
        rate()
    };
    let mut full = vec![rate_at(Speed::Peak)];
    let mut ratios = [vec![], vec![]];
    for _ in 0..TURNS {
        for (speed, ratios) in [Speed::Khz(3_300_000), Speed::Base]
            .into_iter()
            .zip(&mut ratios)
        {
            let one = rate_at(speed);
            let before = full[full.len() - 1];
            full.push(rate_at(Speed::Peak));
            ratios.push(one / f64::midpoint(before, full[full.len() - 1]));
        }
    }
    let spread = spread(&mut full);
    (ratios.map(|mut all| at(0.5, &mut all)), spread)
}

/// How loud the machine is by itself: a lever that makes full speed uneven is no excuse for itself.
#[derive(Default)]
struct Loudness {
    looks: usize,
    loud: usize,
    told: String,
}

impl Loudness {
    /// Looks after an attempt that missed, for as long and at the same work, without any lever.
    fn look(&mut self, missed: &str) {
        let before = stolen();
        let mut rates: Vec<f64> = (0..4 * TURNS).map(|_| rate()).collect();
        let (stolen, spread) = (stolen() - before, spread(&mut rates));
        self.looks += 1;
        self.loud += usize::from(stolen > 0 || spread >= SPREAD_MAX);
        self.told += &format!(
            "\n  {missed}; then without a lever: uneven by {:.0} %, {} ms taken by the host",
            spread * 100.0,
            stolen * 10
        );
    }

    /// That the machine was loud after most attempts; tells that nothing was checked on it.
    fn require(&self) {
        let Self { looks, loud, told } = self;
        assert!(
            2 * loud > *looks,
            "no speed was right, and the machine is loud in {loud} of {looks} looks only:{told}"
        );
        // The tests' own output is kept back where they pass.
        let mut err = std::io::stderr();
        let line = format!("NOT CHECKED, a loud machine ({loud} of {looks} looks):{told}\n");
        err.write_all(line.as_bytes()).unwrap();
    }
}

#[test]
fn each_speed_is_what_it_says_and_full_speed_takes_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut loudness = Loudness::default();
    // Anew each time: what a wake-up costs, to which it is calibrated, changes with the host.
    // A wrong lever is wrong every time.
    let right = attempt(60, || {
        let mut lever = start(Emulation::default());
        let ([middle, base], spread) = speeds(&mut lever);
        let is_near = |measured: f64, expected: f64| (measured / expected - 1.0).abs() <= TOLERANCE;
        if is_near(middle, 0.825) && is_near(base, 0.65) {
            return Ok(lever);
        }
        drop(lever);
        let why = format!("speeds are {middle:.3} and {base:.3}");
        loudness.look(&why);
        Err(Missed {
            why,
            is_even: spread < SPREAD_MAX,
        })
    });
    let mut lever = right.unwrap_or_else(|| {
        loudness.require();
        start(Emulation::default())
    });
    assert!(lever.lever().is_emulated && lever.lever().about.starts_with("EMULATED"));
    let slow = lever.totals().periods;
    lever.apply(Speed::Base).unwrap();
    wait_for(|| lever.totals().periods > slow);
    let changed_ns = lever.totals().changed_ns;
    lever.apply(Speed::Peak).unwrap();
    wait_for(|| lever.totals().changed_ns != changed_ns);
    // From now on the thread is parked.
    let before = lever.totals();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(lever.totals(), before);
}

#[test]
fn a_change_takes_the_latency_that_was_asked_for() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let latency = Duration::from_millis(300);
    let mut lever = start(Emulation {
        latency_ns: latency.as_nanos() as u64,
        ..Emulation::default()
    });
    let period = Duration::from_nanos(Emulation::default().period_ns);
    let idle = lever.totals().periods;
    let begin = std::time::Instant::now();
    lever.apply(Speed::Base).unwrap();
    wait_for(|| lever.totals().periods > idle);
    assert!(
        begin.elapsed() >= latency,
        "slow after {:?}",
        begin.elapsed()
    );
    // A boost that is shorter than the latency happens all the same, for as long as it was asked.
    let (before, begin) = (lever.totals().periods, std::time::Instant::now());
    lever.apply(Speed::Peak).unwrap();
    std::thread::sleep(latency / 3);
    lever.apply(Speed::Base).unwrap();
    std::thread::sleep(latency * 2);
    let taking = period * (lever.totals().periods - before) as u32;
    let elapsed = begin.elapsed();
    assert!(
        taking <= elapsed - latency / 3 + period * 2,
        "{taking:?} of {elapsed:?}"
    );
    lever.undo().unwrap();
}

#[test]
fn a_lever_that_is_dropped_gives_the_cpu_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let thieves = || {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let names = threads
            .filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("comm")).ok());
        names.filter(|name| name.trim() == "bobtail-thief").count()
    };
    let mut lever = start(Emulation::default());
    lever.apply(Speed::Base).unwrap();
    assert_eq!(thieves(), 1);
    drop(lever);
    assert_eq!(thieves(), 0);
}

#[test]
fn what_makes_no_sense_is_refused_by_its_value() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let default = Emulation::default();
    let refused = |asked: Asked, emulation: Emulation| {
        Emulated::start(&[last_cpu()], &asked, emulation)
            .unwrap_err()
            .to_string()
    };
    let cases = [
        (
            Emulation {
                period_ns: 50_000,
                ..default
            },
            "a period of 50000 ns is not from 200 µs",
        ),
        (
            Emulation {
                full_khz: 4,
                ..default
            },
            "4 kHz is no frequency",
        ),
        (
            Emulation {
                latency_ns: u64::MAX,
                ..default
            },
            "is more than 1 s",
        ),
    ];
    for (emulation, expected) in cases {
        let error = refused(Asked::default(), emulation);
        assert!(error.contains(expected), "{error}");
    }
    let base = Asked {
        base: Some(500_000),
        ..Asked::default()
    };
    assert_eq!(
        refused(base, default),
        "base of 500000 kHz: emulated allows 800000 to 4000000 kHz"
    );
    let nowhere = Emulated::start(&[], &Asked::default(), default).unwrap_err();
    assert!(nowhere.to_string().contains("no CPUs"));
    let absent = Emulated::start(&[60_000], &Asked::default(), default).unwrap_err();
    assert!(
        matches!(
            absent,
            ControlError::Call {
                call: "sched_setaffinity",
                ..
            }
        ),
        "{absent}"
    );
}

#[test]
fn a_cpu_is_imitated_once() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let lever = start(Emulation::default());
    let again = Emulated::start(&[last_cpu()], &Asked::default(), Emulation::default());
    let told = again.unwrap_err().to_string();
    assert!(
        told.contains("another bobtail imitates the frequency of CPU"),
        "{told}"
    );
    drop(lever);
    start(Emulation::default());
}

#[test]
fn a_speed_that_stays_off_is_refused_and_the_cpu_is_free_again() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..2 {
        let (expected, measured) = off_by(&mut SameGauge, Asked::default(), Between::Any).unwrap();
        assert!((expected - 0.65).abs() < 0.001, "{expected}");
        assert_eq!(measured, 1.0);
    }
}

/// A CPU that is right at base and as slow at any other speed but the full one, as where waking up
/// takes longer than a piece.
struct SlowGauge {
    calls: usize,
}

impl Gauge for SlowGauge {
    fn rate(&mut self, _: LeverKind, _: &[u32], _: Effort) -> Result<f64, ControlError> {
        // Full speed and another one in nine pairs each: what waking up takes, base, one more.
        let (measured, is_full) = (self.calls / 18 % 3, self.calls.is_multiple_of(2));
        self.calls += 1;
        Ok(if is_full || measured == 0 { 1.0 } else { 0.65 })
    }
}

/// The speed that was expected and the one that was found, of a start that is refused for that.
fn off_by(gauge: &mut dyn Gauge, asked: Asked, between: Between) -> Option<(f64, f64)> {
    let emulation = Emulation {
        between,
        ..Emulation::default()
    };
    let start = || Emulated::start_measured(&[last_cpu()], &asked, emulation, gauge);
    match once_free(start) {
        Ok(_) => None,
        Err(ControlError::Off {
            expected, measured, ..
        }) => Some((expected, measured)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_speed_that_will_be_held_is_checked_as_base_is() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let off_by = |between, peak| {
        let asked = Asked {
            peak,
            ..Asked::default()
        };
        let off = off_by(&mut SlowGauge { calls: 0 }, asked, between);
        off.map(|(expected, _)| (expected * 1000.0).round())
    };
    assert_eq!(off_by(Between::Khz(3_000_000), None), Some(750.0));
    assert_eq!(off_by(Between::Any, None), Some(825.0));
    // A peak below full speed is one, too.
    assert_eq!(off_by(Between::Nothing, Some(3_200_000)), Some(800.0));
    assert_eq!(off_by(Between::Nothing, None), None);
    assert_eq!(off_by(Between::Khz(4_000_000), None), None);
    // By a test of a lever that was right when it started, too, which begins at base.
    let mut lever = start(Emulation::default());
    let told = lever.self_test(&mut SlowGauge { calls: 18 });
    let told = told.unwrap_err().to_string();
    assert!(told.contains("expected 0.825"), "{told}");
}
