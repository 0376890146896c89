//! Measures a decision and the move of a lever that follows it, in one process: what a boost
//! costs the thread that asks for it. Target: 50 µs.
//!
//! `cargo run --release -p bobtail-control --example boost_latency` prints a table. The frequency
//! is written to ordinary files, so its figure is that of the writes without a driver behind them.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use bobtail_control::cpufreq::userspace::CpufreqUserspace;
use bobtail_control::emulated::{Emulated, Emulation};
use bobtail_control::group::CpuGroup;
use bobtail_control::group::quota::Quota;
use bobtail_control::topology::{cpus_online, frequency_domains};
use bobtail_control::{Actuator, Asked, ControlError, Host, LeverKind};
use bobtail_policy::{Collection, CollectionKind, LeverFacts, Policy, Reading};
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};

const ROUNDS: usize = 5_000;
/// Between two moves: boosts are rare, so that caches are cold and the imitation is parked.
const PAUSE: Duration = Duration::from_micros(500);
/// The papers' Combined, without a minimum time, so that every reading moves the lever.
const POLICY: &str = "combined:hold=0ns,gc-hold=0ns,gc-worth=0";

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| decision and move | p50 | p99 | p99.9 |\n|---|---|---|---|"
    )?;
    decide_only(&mut out)?;
    let directory = std::env::temp_dir().join(format!("bobtail-latency-{}", std::process::id()));
    let measured = cpufreq(&mut out, &directory);
    fs::remove_dir_all(&directory)?;
    measured?;
    match quota_group() {
        Ok(group) => {
            let measured = quota(&mut out, &group);
            for mount in V1_MOUNTS {
                fs::remove_dir(Path::new(mount).join(&group))?;
            }
            measured?;
        }
        Err(error) => writeln!(out, "| quota: {error} | | | |")?,
    }
    match emulated() {
        Ok(mut lever) => measure(&mut out, "emulated frequency", Some(&mut lever))?,
        Err(error) => writeln!(out, "| {error} | | | |")?,
    }
    Ok(())
}

/// A reading that begins, or ends, a collection.
fn reading(round: usize) -> Reading {
    let now_ns = round as u64 * 1_000_000;
    let collection = round.is_multiple_of(2).then_some(Collection {
        kind: CollectionKind::MarkCompact,
        begin_ns: now_ns,
    });
    Reading {
        now_ns,
        collection,
        ..Reading::default()
    }
}

fn measure(out: &mut impl Write, name: &str, lever: Option<&mut dyn Actuator>) -> Outcome {
    let mut decider = POLICY.parse::<Policy>()?.start(&LeverFacts::default());
    let mut lever = lever;
    let mut times_ns = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        std::thread::sleep(PAUSE);
        let begin = Instant::now();
        let decision = decider.decide(&reading(round));
        if let Some(lever) = lever.as_deref_mut() {
            lever.apply(decision.speed)?;
        }
        times_ns.push(begin.elapsed().as_nanos() as f64);
    }
    if let Some(lever) = lever {
        lever.undo()?;
    }
    times_ns.sort_by(f64::total_cmp);
    let at = |share: f64| times_ns[(share * (ROUNDS - 1) as f64) as usize] / 1000.0;
    let (p50, p99, p999) = (at(0.5), at(0.99), at(0.999));
    writeln!(out, "| {name} | {p50:.2} µs | {p99:.2} µs | {p999:.2} µs |")?;
    Ok(())
}

fn decide_only(out: &mut impl Write) -> Outcome {
    measure(out, "decision alone", None)
}

fn cpufreq(out: &mut impl Write, directory: &Path) -> Outcome {
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    kernel.write_to(directory)?;
    let host = Host::below(directory);
    let domain = frequency_domains(&host)?.remove(0);
    let mut lever = CpufreqUserspace::open(&host, &domain, &[0], &Asked::default())?;
    measure(out, "cpufreq, userspace (ordinary files)", Some(&mut lever))
}

/// Where v1 has the quota and its account.
const V1_MOUNTS: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"];

/// A child group of this machine for this measurement, in v1.
fn quota_group() -> io::Result<String> {
    let name = format!("bobtail-latency-{}", std::process::id());
    for mount in V1_MOUNTS {
        fs::create_dir(Path::new(mount).join(&name))?;
    }
    let file = Path::new(V1_MOUNTS[0]).join(&name).join("cpu.cfs_quota_us");
    fs::write(file, "60000")?;
    Ok(name)
}

fn quota(out: &mut impl Write, name: &str) -> Outcome {
    let host = Host::default();
    let group = CpuGroup::find(&host, LeverKind::Quota, name)?;
    let mut lever = Quota::open(&host, &group, &Asked::default(), Some(u32::MAX))?;
    measure(out, "quota of a group of this machine", Some(&mut lever))
}

fn emulated() -> Result<Emulated, ControlError> {
    let last = cpus_online(&Host::default())?
        .pop_last()
        .unwrap_or_default();
    Emulated::start(&[last], &Asked::default(), Emulation::default())
}
