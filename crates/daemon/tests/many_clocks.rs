//! A machine of many clocks, and a daemon that was started with few descriptors.

use std::fs;
use std::process::{Command, Stdio};

use bobtail_control::LeverKind;
use bobtail_policy::Speed;
use running::{BASE, PEAK, Site};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/running.rs"]
mod running;

const CLOCKS: u32 = 128;
const MIN_MAX: LeverKind = LeverKind::CpufreqMinMax;

/// A command that becomes the site's daemon, with these bounds of descriptors: fewer than three a
/// clock to begin with.
fn bounded(site: &Site, bounds: &str) -> Command {
    let daemon = site.command();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{bounds} && exec \"$@\""), "sh"]);
    command.arg(daemon.get_program()).args(daemon.get_args());
    command.stdin(Stdio::null()).stderr(
        fs::OpenOptions::new()
            .append(true)
            .open(site.folder.0.join("log.txt"))
            .unwrap(),
    );
    command
}

fn site() -> Site {
    Site::with_cpus(CLOCKS, "max_claims = 256")
}

#[test]
fn a_daemon_takes_as_many_descriptors_as_it_may_have() {
    let site = site();
    let daemon = site.start_by(&mut bounded(&site, "ulimit -Sn 256"));
    let limits = fs::read_to_string(format!("/proc/{}/limits", daemon.child.id())).unwrap();
    let of_files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let [soft, hard] = [3, 4].map(|at| of_files.unwrap().split_whitespace().nth(at));
    assert_eq!(soft, hard, "{limits}");
    let mut client = site.client();
    for cpu in 0..CLOCKS {
        client.raise(MIN_MAX, cpu, Speed::Peak).unwrap();
    }
    assert_eq!(client.lower_all().unwrap(), CLOCKS);
    for cpu in 0..CLOCKS {
        assert_eq!(site.min_khz(cpu), BASE, "{cpu}");
    }
}

#[test]
fn what_is_raised_is_put_back_though_no_more_could_be() {
    let site = site();
    let _daemon = site.start_by(&mut bounded(&site, "ulimit -n 256"));
    let mut client = site.client();
    let raise = |cpu: &u32| client.raise(MIN_MAX, *cpu, Speed::Peak).is_ok();
    let raised: Vec<u32> = (0..CLOCKS).filter(raise).collect();
    assert!((20..CLOCKS as usize).contains(&raised.len()), "{raised:?}");
    assert_eq!(site.min_khz(raised[0]), PEAK);
    assert_eq!(client.lower_all().unwrap() as usize, raised.len());
    for cpu in 0..CLOCKS {
        assert_eq!(site.min_khz(cpu), BASE, "{cpu}");
    }
}
