//! Real processes: a bobtaild on a tree of files, and clients of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use bobtail_daemon::client::Client;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::folder::Folder;

/// What must come comes long before; only a failing test waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const BASE: &str = "800000";
pub const PEAK: &str = "4000000";

/// A machine of two CPUs, and where a daemon for it keeps its things.
pub struct Site {
    pub folder: Folder,
}

pub struct Daemon {
    pub child: Child,
}

impl Site {
    /// With further lines of configuration.
    pub fn new(more: &str) -> Self {
        Self::with_cpus(2, more)
    }

    /// Likewise of so many CPUs, each with a clock of its own.
    pub fn with_cpus(count: u32, more: &str) -> Self {
        Self::in_folder(Folder::new(), count, more)
    }

    /// Likewise, in a folder that there is.
    pub fn in_folder(folder: Folder, count: u32, more: &str) -> Self {
        let kernel = FakeKernel::with_cpus(count);
        (0..count).for_each(|cpu| kernel.cpufreq(&FakePolicy::of_cpu(cpu)));
        kernel.write_to(&folder.0).unwrap();
        let site = Self { folder };
        let user = nix::unistd::geteuid();
        // Long unless a test is about it: on a busy machine a lively client may be late by seconds.
        let heartbeat = if more.contains("heartbeat_timeout_ms") {
            ""
        } else {
            "heartbeat_timeout_ms = 60000"
        };
        let config = format!(
            "socket = {:?}\njournal = {:?}\n{heartbeat}\n{more}\n[[allow]]\nusers = [{user}]\n\
             levers = [\"cpufreq-min-max\"]\n",
            site.socket(),
            site.journal()
        );
        fs::write(site.config(), config).unwrap();
        // Whatever this user lets others write by default.
        fs::set_permissions(site.config(), fs::Permissions::from_mode(0o644)).unwrap();
        site
    }

    pub fn config(&self) -> PathBuf {
        self.folder.0.join("bobtaild.toml")
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.0.join("bobtaild.sock")
    }

    pub fn journal(&self) -> PathBuf {
        self.folder.0.join("journal.json")
    }

    pub fn knob(&self, cpu: u32) -> PathBuf {
        let file = format!("sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_min_freq");
        self.folder.0.join(file)
    }

    pub fn min_khz(&self, cpu: u32) -> String {
        let text = fs::read_to_string(self.knob(cpu)).unwrap_or_default();
        text.trim().to_owned()
    }

    /// Swaps a knob for a directory, since root may write any file but nobody a directory; and
    /// back. At once: what a guard puts back in a file that is made but not yet filled would be
    /// written over.
    pub fn swap_knob(&self, cpu: u32) {
        let (knob, other) = (self.knob(cpu), self.folder.0.join("instead"));
        if !other.exists() {
            fs::create_dir(&other).unwrap();
        }
        let exchange = RenameFlags::RENAME_EXCHANGE;
        renameat2(AT_FDCWD, &knob, AT_FDCWD, &other, exchange).unwrap();
    }

    /// The command of a daemon, its log in `log.txt`.
    pub fn command(&self) -> Command {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.0.join("log.txt"))
            .unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bobtaild"));
        command.arg("--config").arg(self.config());
        command.arg("--root").arg(&self.folder.0);
        command.stdin(Stdio::null()).stderr(log);
        command
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.0.join("log.txt")).unwrap()
    }

    /// Starts a daemon and waits until it answers.
    pub fn start(&self) -> Daemon {
        self.start_by(&mut self.command())
    }

    /// Likewise, by a command that becomes one.
    pub fn start_by(&self, command: &mut Command) -> Daemon {
        let mut daemon = Daemon {
            child: command.spawn().unwrap(),
        };
        until("the daemon answers", || {
            let ended = daemon.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended by {ended:?}: {}", self.log());
            Client::connect(&self.socket(), PATIENCE).is_ok()
        });
        daemon
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.socket(), PATIENCE).unwrap()
    }

    /// A process that holds CPU 0 at its peak; it does when this returns, and goes on unless it
    /// is `mute`.
    pub fn holder(&self, verb: &str) -> Holder {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bobtaild-ask"))
            .arg(self.socket())
            .args([verb, "cpufreq-min-max", "0", "peak"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(
            line.trim(),
            "granted 4000000, stands at 4000000",
            "{}",
            self.log()
        );
        if verb == "hold" {
            assert_eq!(self.min_khz(0), PEAK);
        }
        Holder {
            child,
            _output: output,
        }
    }

    /// Pids of this site's guards.
    pub fn guards(&self) -> Vec<i32> {
        let journal = self.journal();
        let of_site = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<_> = words.split(|byte| *byte == 0).collect();
            words.contains(&journal.as_os_str().as_encoded_bytes())
                && words.contains(&b"--guard-of".as_slice())
        };
        let names = fs::read_dir("/proc").unwrap();
        let pids = names.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        pids.filter(of_site).collect()
    }

    /// Leaves CPU 0 raised, as a killed daemon does of which no guard is left; its client goes on.
    pub fn leave_raised(&self) -> Holder {
        let mut daemon = self.start();
        let holder = self.holder("hold");
        self.kill_with_guards(&mut daemon);
        holder
    }

    /// Ends a daemon and its guards before any of them can put anything back.
    fn kill_with_guards(&self, daemon: &mut Daemon) {
        // It cannot start another guard while it is stopped.
        daemon.signal(Signal::SIGSTOP);
        for guard in self.guards() {
            kill(Pid::from_raw(guard), Signal::SIGKILL).unwrap();
        }
        daemon.signal(Signal::SIGKILL);
        daemon.wait();
    }

    pub fn expect_base(&self) {
        until("the lever is back", || self.min_khz(0) == BASE);
    }

    pub fn expect_no_guards(&self) {
        until("the guards end", || self.guards().is_empty());
    }
}

impl Daemon {
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Whoever ended it already has waited for it.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub struct Holder {
    pub child: Child,
    _output: BufReader<ChildStdout>,
}

impl Holder {
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A connection that says what the test likes.
pub fn raw(socket: &Path) -> UnixStream {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket as open};
    use std::os::fd::AsRawFd;
    let flags = SockFlag::SOCK_CLOEXEC;
    let fd = open(AddressFamily::Unix, SockType::SeqPacket, flags, None).unwrap();
    connect(fd.as_raw_fd(), &UnixAddr::new(socket).unwrap()).unwrap();
    let stream = UnixStream::from(fd);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}
