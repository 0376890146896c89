//! Measures the imitated frequency: how right and how even its speed is, and how soon it changes
//! when another CPU asks for it.
//!
//! `cargo run --release -p bobtail-control --example emulated_fidelity` as root prints two tables;
//! it slows the last CPU for about half a minute.

use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use bobtail_control::emulated::{Emulated, Emulation};
use bobtail_control::topology::cpus_online;
use bobtail_control::{Actuator, Asked, Host};
use bobtail_policy::Speed;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const TRIALS: usize = 300;
/// A piece that the imitation takes is 60 µs and more; what an interrupt takes is less than this.
const TAKEN: Duration = Duration::from_micros(25);

fn main() -> Outcome {
    let mut out = io::stdout().lock();
    let cpu = cpus_online(&Host::default())?
        .pop_last()
        .unwrap_or_default();
    evenness(&mut out, cpu)?;
    writeln!(
        out,
        "\n| latency asked for | change | p10 | p50 | p90 | p99 |\n|---|---|---|---|---|---|"
    )?;
    for latency_us in [0, 20, 500, 1000] {
        reaction(&mut out, cpu, latency_us)?;
    }
    Ok(())
}

/// Speeds of 1 ms of work, at each of the paper's frequencies.
fn evenness(out: &mut impl Write, cpu: u32) -> Outcome {
    let mut lever = Emulated::start(&[cpu], &Asked::default(), Emulation::default())?;
    writeln!(
        out,
        "| frequency | of full speed, mean | 1 ms of work: p1 | p50 | p99 |\n|---|---|---|---|---|"
    )?;
    let mut full = 0.0;
    for khz in [4_000_000, 3_300_000, 2_600_000] {
        lever.apply(Speed::Khz(khz))?;
        thread::sleep(Duration::from_millis(5));
        let mut times = thread::spawn(move || chunks(cpu))
            .join()
            .map_err(|_| "no work")??;
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[(share * (times.len() - 1) as f64) as usize];
        if khz == 4_000_000 {
            full = at(0.5);
        }
        let mean = full * times.len() as f64 / times.iter().sum::<f64>();
        let [slow, middle, fast] = [0.99, 0.5, 0.01].map(|share| full / at(share));
        let ghz = f64::from(khz) / 1e6;
        writeln!(
            out,
            "| {ghz} GHz | {mean:.3} | {slow:.2} | {middle:.2} | {fast:.2} |"
        )?;
    }
    Ok(())
}

/// Times of equal pieces of work of about 1 ms at full speed, in µs.
fn chunks(cpu: u32) -> io::Result<Vec<f64>> {
    real_time(cpu)?;
    let work = |steps: u64| {
        let begin = Instant::now();
        let mut sum = 0_u64;
        for step in 0..steps {
            sum = std::hint::black_box(sum.wrapping_add(step));
        }
        begin.elapsed().as_secs_f64() * 1e6
    };
    let best = (0..100).map(|_| work(10_000)).fold(f64::INFINITY, f64::min);
    let steps = (1000.0 / best * 10_000.0) as u64;
    let timed = (0..1000).map(|round| {
        if round % 100 == 0 {
            // The kernel stops real-time threads that leave nothing to the others.
            thread::sleep(Duration::from_millis(40));
        }
        work(steps)
    });
    Ok(timed.collect())
}

/// From asking until the thread took it up, after which nothing is taken (it may be asleep until
/// then, so that this is the most that it can be); and from giving back to the first piece taken,
/// as seen by work on that CPU.
fn reaction(out: &mut impl Write, cpu: u32, latency_us: u64) -> Outcome {
    let latency_ns = latency_us * 1000;
    let emulation = Emulation {
        latency_ns,
        ..Emulation::default()
    };
    let mut lever = Emulated::start(&[cpu], &Asked::default(), emulation)?;
    let (mut ups, mut downs) = (vec![], vec![]);
    for _ in 0..TRIALS {
        lever.apply(Speed::Base)?;
        thread::sleep(Duration::from_micros(6_000 + latency_us));
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        IS_OVER.store(false, SeqCst);
        let observer = thread::spawn(move || gaps(cpu, &IS_OVER));
        thread::sleep(Duration::from_millis(3));
        let up_ns = monotonic_ns();
        lever.apply(Speed::Peak)?;
        thread::sleep(Duration::from_micros(3_000 + latency_us));
        let taken_up_ns = lever.totals().changed_ns;
        let down = Instant::now();
        lever.apply(Speed::Base)?;
        thread::sleep(Duration::from_micros(1_000 + latency_us));
        IS_OVER.store(true, SeqCst);
        let gaps = observer.join().map_err(|_| "no observer")??;
        ups.push(taken_up_ns.saturating_sub(up_ns) as f64 / 1e3);
        let first = gaps
            .iter()
            .map(|(begin, _)| *begin)
            .find(|begin| *begin > down);
        downs.extend(first.map(|begin| (begin - down).as_secs_f64() * 1e6));
    }
    for (name, mut times) in [("up", ups), ("down", downs)] {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[(share * (times.len() - 1) as f64) as usize];
        let [p10, p50, p90, p99] = [0.1, 0.5, 0.9, 0.99].map(at);
        writeln!(
            out,
            "| {latency_us} µs | {name} | {p10:.0} µs | {p50:.0} µs | {p90:.0} µs | {p99:.0} µs |"
        )?;
    }
    Ok(())
}

fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable, and this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// When this CPU was taken away from a real-time thread that does nothing but look at the clock.
fn gaps(cpu: u32, is_over: &AtomicBool) -> io::Result<Vec<(Instant, Instant)>> {
    real_time(cpu)?;
    let mut gaps = Vec::with_capacity(1000);
    let mut before = Instant::now();
    while !is_over.load(SeqCst) {
        let now = Instant::now();
        if now - before > TAKEN {
            gaps.push((before, now));
        }
        before = now;
    }
    Ok(gaps)
}

/// Puts the calling thread on a CPU, above what is not real-time and below the imitation.
fn real_time(cpu: u32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 20 };
    // SAFETY: an all-zero set is empty, the CPU is one of this machine, both arguments are
    // readable and of the sizes told, and 0 is the calling thread.
    let results = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        [
            libc::sched_setaffinity(0, size_of_val(&set), &set),
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters),
        ]
    };
    if results.contains(&-1) {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
