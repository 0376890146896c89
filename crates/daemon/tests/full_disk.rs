//! A journal whose disk fills up while levers are raised: what is back is not listed any more, and
//! what is not back is.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bobtail_control::cpufreq::min_max::CpufreqMinMax;
use bobtail_control::topology::frequency_domains;
use bobtail_control::{Actuator, Asked, Domain, Host, LeverKind, SavedState};
use bobtail_daemon::client::Client;
use bobtail_daemon::journal::{self, Journal, JournalError};
use bobtail_daemon::lock;
use bobtail_daemon::restore::restore_left;
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};
use folder::Folder;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use running::{BASE, PATIENCE, PEAK, Site, until};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/running.rs"]
mod running;

/// A disk of a few pages, which this test's thread and what it starts see.
struct Disk(PathBuf);

impl Disk {
    /// None where the tests may not mount anything.
    fn mounted(folder: &Path) -> Option<Self> {
        let path = folder.join("disk");
        fs::create_dir(&path).unwrap();
        if let Err(why) = unshare(CloneFlags::CLONE_NEWNS) {
            // In CI it must be had.
            assert!(std::env::var_os("CI").is_none(), "no disk to fill: {why}");
            return None;
        }
        let nothing = None::<&str>;
        mount(
            nothing,
            "/",
            nothing,
            MsFlags::MS_REC | MsFlags::MS_PRIVATE,
            nothing,
        )
        .unwrap();
        let flags = MsFlags::empty();
        mount(nothing, &path, Some("tmpfs"), flags, Some("size=24k")).unwrap();
        Some(Self(path))
    }

    fn journal(&self) -> PathBuf {
        self.0.join("journal.json")
    }

    /// Leaves no room at all.
    fn fill(&self) {
        let mut file = File::create(self.0.join("filling")).unwrap();
        while file.write_all(&[1; 1024]).is_ok() {}
        let probe = fs::write(self.0.join("probe"), "1");
        assert_eq!(probe.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        fs::remove_file(self.0.join("probe")).unwrap();
    }

    /// The levers that are listed, whole; none where there is no journal.
    fn listed(&self, host: &Host) -> Vec<Domain> {
        let content = journal::read(&self.journal(), host).unwrap();
        let entries = content.map_or_else(Vec::new, |content| content.entries);
        entries.into_iter().map(|saved| saved.domain).collect()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // It goes with this thread at the latest.
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

/// The daemon of a command, with its things on a disk and two clocks below `site`.
struct Kept {
    child: Child,
    client: Client,
}

impl Kept {
    /// Both clocks are raised when this returns.
    fn start(site: &Site, disk: &Disk) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bobtaild"));
        command.arg("--keep").arg(&disk.0);
        command.args(["--lever", "cpufreq-min-max"]);
        command.arg("--root").arg(&site.folder.0);
        let log = File::create(site.folder.0.join("log.txt")).unwrap();
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = command.spawn().unwrap();
        let mut answer = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut answer).unwrap();
        assert!(
            answer.contains("\"chosen\":\"cpufreq-min-max\""),
            "{answer}"
        );
        let mut client = Client::connect(&disk.0.join("bobtaild.sock"), PATIENCE).unwrap();
        for cpu in [0, 1] {
            let raised = client.raise(LeverKind::CpufreqMinMax, cpu, Speed::Peak);
            raised.unwrap();
            assert_eq!(site.min_khz(cpu), PEAK);
        }
        Self { child, client }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn cpu(number: u32) -> Domain {
    Domain::Cpus(vec![number])
}

#[test]
fn a_daemon_that_put_all_back_lists_nothing() {
    let site = Site::new("");
    let Some(disk) = Disk::mounted(&site.folder.0) else {
        return;
    };
    let mut kept = Kept::start(&site, &disk);
    let host = Host::below(&site.folder.0);
    assert_eq!(disk.listed(&host), [cpu(0), cpu(1)]);
    disk.fill();
    kept.signal(Signal::SIGTERM);
    assert_eq!(kept.child.wait().unwrap().code(), Some(0), "{}", site.log());
    assert_eq!(
        (site.min_khz(0), site.min_khz(1)),
        (BASE.into(), BASE.into())
    );
    assert_eq!(disk.listed(&host), []);
    assert!(!site.log().contains("journal"), "{}", site.log());
}

#[test]
fn a_lever_that_is_let_go_is_not_listed_beside_one_that_is_held() {
    let site = Site::new("");
    let Some(disk) = Disk::mounted(&site.folder.0) else {
        return;
    };
    let mut kept = Kept::start(&site, &disk);
    let host = Host::below(&site.folder.0);
    disk.fill();
    kept.client.lower(LeverKind::CpufreqMinMax, 0).unwrap();
    until("one is closed", || {
        kept.client.beat().unwrap();
        disk.listed(&host) == [cpu(1)]
    });
    assert_eq!(site.min_khz(1), PEAK);
    // Its own room is there for it to be raised and lowered again.
    let raised = kept.client.raise(LeverKind::CpufreqMinMax, 0, Speed::Peak);
    raised.unwrap();
    assert_eq!(disk.listed(&host), [cpu(1), cpu(0)]);
}

#[test]
fn a_guard_that_put_all_back_lists_nothing() {
    let site = Site::new("");
    let Some(disk) = Disk::mounted(&site.folder.0) else {
        return;
    };
    let mut kept = Kept::start(&site, &disk);
    disk.fill();
    kept.signal(Signal::SIGKILL);
    kept.child.wait().unwrap();
    let host = Host::below(&site.folder.0);
    until("all is back", || disk.listed(&host).is_empty());
    assert_eq!(
        (site.min_khz(0), site.min_khz(1)),
        (BASE.into(), BASE.into())
    );
    assert!(!site.log().contains("guard:"), "{}", site.log());
}

/// A kernel of so many CPUs, and a journal on a disk of its own; none as of `Disk::mounted`.
fn journaled(folder: &Folder, cpus: u32) -> Option<(Disk, FakeKernel, Journal)> {
    let disk = Disk::mounted(&folder.0)?;
    let kernel = FakeKernel::with_cpus(cpus);
    (0..cpus).for_each(|cpu| kernel.cpufreq(&FakePolicy::of_cpu(cpu)));
    let journal = Journal::begin(&disk.journal(), &kernel.host(), "test", vec![]).unwrap();
    Some((disk, kernel, journal))
}

/// What each clock was before it is raised.
fn all_saved(host: &Host) -> Vec<SavedState> {
    let domains = frequency_domains(host).unwrap();
    let open = |domain| CpufreqMinMax::open(host, domain, &[], &Asked::default()).unwrap();
    let levers = domains.iter().map(open);
    levers.map(|lever| lever.saved().clone()).collect()
}

#[test]
fn without_room_kept_nothing_raised_is_lost_and_an_empty_journal_goes() {
    let folder = Folder::new();
    let Some((disk, kernel, mut journal)) = journaled(&folder, 2) else {
        return;
    };
    let host = kernel.host();
    let saved = all_saved(&host);
    journal.add(&saved[0]).unwrap();
    journal.add(&saved[1]).unwrap();
    fs::remove_file(journal::written_first(&disk.journal())).unwrap();
    disk.fill();
    let removed = journal.remove(saved[0].lever, &saved[0].domain);
    assert!(
        matches!(removed, Err(JournalError::Io { .. })),
        "{removed:?}"
    );
    assert_eq!(disk.listed(&host), [cpu(0), cpu(1)], "one too many");
    journal.remove(saved[1].lever, &saved[1].domain).unwrap();
    assert!(!disk.journal().exists());
    // Nothing can be raised without a journal, and none is left of the try.
    assert!(journal.add(&saved[0]).is_err());
    assert_eq!(disk.listed(&host), []);
}

#[test]
fn who_puts_all_back_without_room_for_that_leaves_no_journal() {
    let folder = Folder::new();
    let Some((disk, kernel, mut journal)) = journaled(&folder, 1) else {
        return;
    };
    let host = kernel.host();
    journal.add(&all_saved(&host)[0]).unwrap();
    fs::remove_file(journal::written_first(&disk.journal())).unwrap();
    fs::write(lock::path_of(&disk.journal()), "").unwrap();
    disk.fill();
    let left = restore_left(&host, &disk.journal(), None, Duration::ZERO);
    assert_eq!(left.unwrap(), 0);
    assert!(!disk.journal().exists());
}

#[test]
fn a_lever_is_not_raised_where_its_journal_could_not_be_written_again() {
    let folder = Folder::new();
    let Some((disk, kernel, mut journal)) = journaled(&folder, 128) else {
        return;
    };
    let host = kernel.host();
    let mut added = vec![];
    for saved in all_saved(&host) {
        match journal.add(&saved) {
            Ok(()) => added.push(saved),
            Err(_) => break,
        }
    }
    // Each of two files has half of the pages at most.
    assert!((8..128).contains(&added.len()), "{}", added.len());
    let domains: Vec<_> = added.iter().map(|saved| saved.domain.clone()).collect();
    assert_eq!(disk.listed(&host), domains);
    disk.fill();
    // What is replaced has its room for as long as somebody reads it.
    let _reading = File::open(disk.journal()).unwrap();
    for (index, saved) in added.iter().enumerate() {
        journal.remove(saved.lever, &saved.domain).unwrap();
        assert_eq!(disk.listed(&host), domains[index + 1..]);
    }
}
