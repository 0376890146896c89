//! Asks a bobtaild by hand: what it offers, hold a lever, how fast it is.
//!
//! For administrators who set one up; services use the library's client.

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bobtail_control::LeverKind;
use bobtail_daemon::client::{Client, ClientError};
use bobtail_policy::Speed;

const HELP: &str = "\
bobtaild-ask: asks a bobtaild by hand

usage: bobtaild-ask SOCKET offer LEVER CPU
       bobtaild-ask SOCKET hold LEVER CPU base|peak|KHZ   until stdin ends
       bobtaild-ask SOCKET mute LEVER CPU base|peak|KHZ   likewise, without a sign of life
       bobtaild-ask SOCKET measure LEVER CPU [ROUNDS]     base to peak and back, default 2000

exit codes: 0 done; 64 wrong usage; 69 no daemon, or it refuses
";
const PATIENCE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (code, text) = match run(&words) {
        Ok(Some(text)) => (0, text),
        Ok(None) => (64, HELP.to_owned()),
        Err(error) => (69, format!("bobtaild-ask: {error}\n")),
    };
    say(code == 0, &text);
    ExitCode::from(code)
}

/// Who closed the stream does not want to hear it.
fn say(is_answer: bool, text: &str) {
    if is_answer {
        let mut stdout = std::io::stdout();
        drop(
            stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.flush()),
        );
    } else {
        drop(std::io::stderr().write_all(text.as_bytes()));
    }
}

fn run(words: &[&str]) -> Result<Option<String>, ClientError> {
    let &[socket, verb, lever, cpu, ref rest @ ..] = words else {
        return Ok(None);
    };
    let (Some(lever), Ok(cpu)) = (lever_named(lever), cpu.parse()) else {
        return Ok(None);
    };
    let connect = || Client::connect(Path::new(socket), PATIENCE);
    match (verb, rest) {
        ("offer", []) => {
            let offer = connect()?.offer(lever, cpu)?;
            Ok(Some(format!(
                "domain {}: {} to {} {}, base {}, peak {}\n",
                offer.domain, offer.lowest, offer.highest, offer.unit, offer.base, offer.peak
            )))
        }
        ("hold" | "mute", [speed]) => match speed_named(speed) {
            Some(speed) => hold(&mut connect()?, lever, cpu, speed, verb == "hold").map(Some),
            None => Ok(None),
        },
        ("measure", []) => measure(&mut connect()?, lever, cpu, 2000).map(Some),
        ("measure", [rounds]) => match rounds.parse() {
            Ok(rounds) if rounds > 0 => measure(&mut connect()?, lever, cpu, rounds).map(Some),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

fn lever_named(word: &str) -> Option<LeverKind> {
    serde_json::from_value(serde_json::Value::from(word)).ok()
}

fn speed_named(word: &str) -> Option<Speed> {
    match word {
        "base" => Some(Speed::Base),
        "peak" => Some(Speed::Peak),
        khz => khz.parse().ok().map(Speed::Khz),
    }
}

/// Holds until stdin ends, with a sign of life three times in each timeout.
fn hold(
    client: &mut Client,
    lever: LeverKind,
    cpu: u32,
    speed: Speed,
    beats: bool,
) -> Result<String, ClientError> {
    let (granted, effective) = client.raise(lever, cpu, speed)?;
    say(true, &format!("granted {granted}, stands at {effective}\n"));
    let waiting = std::thread::spawn(|| {
        let mut rest = Vec::new();
        drop(std::io::stdin().read_to_end(&mut rest));
    });
    while !waiting.is_finished() {
        std::thread::sleep((client.heartbeat_timeout() / 3).min(Duration::from_millis(50)));
        if beats {
            client.beat()?;
        }
    }
    client.lower(lever, cpu)?;
    Ok("lowered\n".to_owned())
}

/// The time from asking for peak until the lever is there, and for the call that does not wait.
fn measure(
    client: &mut Client,
    lever: LeverKind,
    cpu: u32,
    rounds: usize,
) -> Result<String, ClientError> {
    let (mut waited_ns, mut soon_ns) = (Vec::new(), Vec::new());
    let pause = Duration::from_micros(1000);
    client.raise(lever, cpu, Speed::Base)?;
    for _ in 0..rounds {
        let started = Instant::now();
        client.raise(lever, cpu, Speed::Peak)?;
        waited_ns.push(started.elapsed().as_nanos());
        client.raise(lever, cpu, Speed::Base)?;
        std::thread::sleep(pause);
        let started = Instant::now();
        client.raise_soon(lever, cpu, Speed::Peak)?;
        soon_ns.push(started.elapsed().as_nanos());
        client.raise(lever, cpu, Speed::Base)?;
        std::thread::sleep(pause);
    }
    client.lower(lever, cpu)?;
    let line = |name: &str, mut times_ns: Vec<u128>| {
        times_ns.sort_unstable();
        let us = |permille: usize| times_ns[(times_ns.len() - 1) * permille / 1000] as f64 / 1e3;
        format!(
            "{name}: p50 {:.1} µs, p90 {:.1}, p99 {:.1}, max {:.1}\n",
            us(500),
            us(900),
            us(990),
            us(1000)
        )
    };
    let lines = [
        format!("{rounds} raises each\n"),
        line("until the lever is there", waited_ns),
        line("cost of not waiting for it", soon_ns),
    ];
    Ok(lines.concat())
}
