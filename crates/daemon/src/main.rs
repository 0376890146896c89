//! The command `bobtaild`: arguments, exit codes, and which part of the library runs.
//!
//! The only place that prints an answer or chooses an exit code.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bobtail_control::emulated::Emulation;
use bobtail_control::survey::Family;
use bobtail_control::{Asked, Host, topology};
use bobtail_daemon::config::Config;
use bobtail_daemon::journal::JournalError;
use bobtail_daemon::keeper::{self, Order};
use bobtail_daemon::levers::Imitated;
use bobtail_daemon::lock::LockError;
use bobtail_daemon::restore::{RestoreError, restore_left};
use bobtail_daemon::server::{Server, ServerError};
use bobtail_daemon::{examination, guard, log};
use lexopt::prelude::{Long, Short, ValueExt};

const HELP: &str = "\
bobtaild: raises CPU speed for processes without rights, and puts everything back

usage: bobtaild [options]

  --config FILE    configuration (default /etc/bobtail/bobtaild.toml)
  --check-config   say whether the configuration is sound, and end
  --socket PATH    where clients connect, instead of the configuration's
  --journal PATH   what to put back after a crash, instead of the configuration's
  --root DIR       move the levers of the tree in DIR (DIR/sys) instead of the machine's
  --restore        put back what a killed bobtaild left, and end
  --stand-guard    put back whatever a bobtaild leaves, until ended; for a container of its own
  --help, --version

for `bobtail boost` and `bobtail doctor`, which start a bobtaild of their own:
  --keep DIR       socket and journal in DIR; ends when stdin does, and takes DIR along; each
                   line there is answered with how long the levers were up
  --lever WORD     the lever, or a family such as cpufreq; without it, an imitated frequency
  --offers SOCKET  ask the bobtaild there instead, and end
  --examine DIR    try every lever of this host, with a journal in DIR, and end;
                   --imitate also the imitated frequency, which slows a CPU for a second
  --base N, --peak N, --full-khz N, --latency-ns N, --cpus LIST   how it is driven

exit codes: 0 ended as asked, all levers back; 64 wrong usage; 69 no bobtaild at the socket of
--offers; 70 a fault; 73 no socket, journal or lock to be had; 74 the journal is damaged or not
safe; 75 another bobtaild is running; 77 a lever could not be put back; 78 the configuration is
wrong, or others may write it
";

/// What it is to do instead of serving, of which a command line names one.
const ORDERS: [&str; 7] = [
    "check-config",
    "restore",
    "stand-guard",
    "guard-of",
    "keep",
    "examine",
    "offers",
];

#[derive(Default)]
struct Options {
    config: Option<PathBuf>,
    socket: Option<PathBuf>,
    journal: Option<PathBuf>,
    root: Option<PathBuf>,
    guard_of: Option<String>,
    only: Only,
    keep: Option<PathBuf>,
    offers: Option<PathBuf>,
    examine: Option<PathBuf>,
    imitates: bool,
    lever: Option<String>,
    asked: Asked,
    emulation: Emulation,
    cpus: Vec<u32>,
}

#[derive(Default, PartialEq)]
enum Only {
    #[default]
    Serve,
    CheckConfig,
    Restore,
    StandGuard,
    Say(String),
}

fn main() -> ExitCode {
    let (code, what) = match options() {
        Ok(options) => run(options),
        Err(error) => (64, format!("{error}; see bobtaild --help")),
    };
    if code != 0 {
        log::line(what);
    } else if !what.is_empty() {
        // Who closed stdout does not want the answer.
        drop(std::io::stdout().write_all(what.as_bytes()));
    }
    ExitCode::from(code)
}

fn options() -> Result<Options, lexopt::Error> {
    let mut options = Options::default();
    let mut arguments = lexopt::Parser::from_env();
    let mut order: Option<&str> = None;
    while let Some(argument) = arguments.next()? {
        if let Long(name) = argument
            && let Some(named) = ORDERS.into_iter().find(|order| *order == name)
            && let Some(before) = order.replace(named).filter(|before| *before != named)
        {
            let what =
                format!("--{before} and --{named} are two orders, of which one is carried out");
            return Err(what.into());
        }
        match argument {
            Long("config") => options.config = Some(arguments.value()?.into()),
            Long("socket") => options.socket = Some(arguments.value()?.into()),
            Long("journal") => options.journal = Some(arguments.value()?.into()),
            Long("root") => options.root = Some(arguments.value()?.into()),
            // Not for people: what a daemon starts its guard with.
            Long("guard-of") => options.guard_of = Some(arguments.value()?.string()?),
            Long("keep") => options.keep = Some(arguments.value()?.into()),
            Long("examine") => options.examine = Some(arguments.value()?.into()),
            Long("imitate") => options.imitates = true,
            Long("offers") => options.offers = Some(arguments.value()?.into()),
            Long("lever") => options.lever = Some(arguments.value()?.string()?),
            Long("base") => options.asked.base = Some(arguments.value()?.parse()?),
            Long("peak") => options.asked.peak = Some(arguments.value()?.parse()?),
            Long("full-khz") => options.emulation.full_khz = arguments.value()?.parse()?,
            Long("latency-ns") => options.emulation.latency_ns = arguments.value()?.parse()?,
            Long("cpus") => {
                let list = arguments.value()?;
                options.cpus =
                    list.parse_with(|list| topology::parse_list(list).ok_or("no list of CPUs"))?;
            }
            Long("check-config") => options.only = Only::CheckConfig,
            Long("restore") => options.only = Only::Restore,
            Long("stand-guard") => options.only = Only::StandGuard,
            Long("help") | Short('h') => options.only = Only::Say(HELP.to_owned()),
            Long("version") | Short('V') => {
                let version = format!("bobtaild {}\n", env!("CARGO_PKG_VERSION"));
                options.only = Only::Say(version);
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(options)
}

/// The exit code, and what to say on stdout (0) or stderr (all others).
fn run(options: Options) -> (u8, String) {
    if let Only::Say(text) = options.only {
        return (0, text);
    }
    let host = options
        .root
        .as_deref()
        .map_or_else(Host::default, Host::below);
    if let (Some(owner), Some(journal)) = (&options.guard_of, &options.journal) {
        return restored(guard::watch(&host, journal, owner));
    }
    if let Some(folder) = &options.examine {
        return examine(folder, options.root, options.imitates);
    }
    if options.keep.is_some() || options.offers.is_some() {
        return for_a_command(options);
    }
    let path = options
        .config
        .unwrap_or("/etc/bobtail/bobtaild.toml".into());
    let mut config = match Config::load(&path) {
        Ok(config) => config,
        Err(error) => return (78, error.to_string()),
    };
    config.socket = options.socket.unwrap_or(config.socket);
    config.journal = options.journal.unwrap_or(config.journal);
    // Those of the configuration are absolute.
    if let Some((key, what)) = config.relative() {
        return (64, format!("--{key}: {what}"));
    }
    if let Some(what) = config.clash() {
        return (78, format!("{}: {what}", path.display()));
    }
    match options.only {
        Only::CheckConfig => (0, format!("{}: sound\n", path.display())),
        Only::Restore => {
            let wait = Duration::from_secs(2);
            restored(restore_left(&host, &config.journal, None, wait))
        }
        Only::StandGuard => guard::stand(&host, &config.journal),
        _ => serve(config, options.root),
    }
}

/// All levers of the host, as JSON.
fn examine(folder: &Path, root: Option<PathBuf>, imitates: bool) -> (u8, String) {
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    match examination::examine(folder, root, imitates) {
        Ok(findings) => match serde_json::to_string(&findings) {
            Ok(text) => (0, format!("{text}\n")),
            Err(error) => (70, error.to_string()),
        },
        Err(error) => (code_of(&error), error.to_string()),
    }
}

/// A daemon for one command, or what another one offers it.
fn for_a_command(options: Options) -> (u8, String) {
    let family = match options.lever.as_deref().map(Family::named) {
        Some(None) => {
            let word = options.lever.unwrap_or_default();
            let what = format!("there is no lever \"{word}\"; see bobtaild --help");
            return (64, what);
        }
        Some(family) => family,
        None => None,
    };
    if let (Some(socket), Some(family)) = (&options.offers, &family) {
        return match keeper::offers(socket, family) {
            Ok(answer) => (0, answer),
            Err(error) => (69, error.to_string()),
        };
    }
    let Some(folder) = options.keep else {
        return (
            64,
            "--offers wants a --lever; see bobtaild --help".to_owned(),
        );
    };
    let order = Order {
        folder,
        family,
        asked: options.asked,
        imitated: Imitated {
            cpus: options.cpus,
            emulation: options.emulation,
        },
        root: options.root,
    };
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    match keeper::keep(order) {
        Ok(0) => (0, String::new()),
        Ok(left) => (77, left_over(left)),
        Err(error) => (code_of(&error), error.to_string()),
    }
}

fn serve(config: Config, root: Option<PathBuf>) -> (u8, String) {
    // What is made by default is for the daemon alone; the socket's mode is set.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    match Server::start(config, root).and_then(Server::run) {
        Ok(0) => (0, String::new()),
        Ok(left) => (77, left_over(left)),
        Err(error) => (code_of(&error), error.to_string()),
    }
}

fn restored(result: Result<usize, RestoreError>) -> (u8, String) {
    match result {
        Ok(0) => (0, String::new()),
        Ok(left) => (77, left_over(left)),
        Err(RestoreError::Lock(error)) => (code_of_lock(&error), error.to_string()),
        Err(RestoreError::Journal(error)) => (code_of_journal(&error), error.to_string()),
    }
}

fn left_over(left: usize) -> String {
    format!("{left} levers could not be put back and are left in the journal")
}

fn code_of(error: &ServerError) -> u8 {
    match error {
        ServerError::Journal(error) => code_of_journal(error),
        ServerError::Lock(error) => code_of_lock(error),
        ServerError::Folder { .. } | ServerError::Socket { .. } => 73,
        _ => 70,
    }
}

fn code_of_lock(error: &LockError) -> u8 {
    match error {
        LockError::Taken(_) => 75,
        LockError::Io { .. } => 73,
    }
}

fn code_of_journal(error: &JournalError) -> u8 {
    match error {
        JournalError::Io { .. } => 73,
        _ => 74,
    }
}
