//! The command `bobtaild`: arguments, exit codes, and which part of the library runs.
//!
//! The only place that prints an answer or chooses an exit code.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bobtail_control::Host;
use bobtail_daemon::config::Config;
use bobtail_daemon::journal::JournalError;
use bobtail_daemon::lock::LockError;
use bobtail_daemon::restore::{RestoreError, restore_left};
use bobtail_daemon::server::{Server, ServerError};
use bobtail_daemon::{guard, log};
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

exit codes: 0 ended as asked, all levers back; 64 wrong usage; 70 a fault; 73 no socket, journal
or lock to be had; 74 the journal is damaged or not safe; 75 another bobtaild is running;
77 a lever could not be put back; 78 the configuration is wrong
";

#[derive(Default)]
struct Options {
    config: Option<PathBuf>,
    socket: Option<PathBuf>,
    journal: Option<PathBuf>,
    root: Option<PathBuf>,
    guard_of: Option<String>,
    only: Only,
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
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("config") => options.config = Some(arguments.value()?.into()),
            Long("socket") => options.socket = Some(arguments.value()?.into()),
            Long("journal") => options.journal = Some(arguments.value()?.into()),
            Long("root") => options.root = Some(arguments.value()?.into()),
            // Not for people: what a daemon starts its guard with.
            Long("guard-of") => options.guard_of = Some(arguments.value()?.string()?),
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
    let path = options
        .config
        .unwrap_or("/etc/bobtail/bobtaild.toml".into());
    let mut config = match Config::load(&path) {
        Ok(config) => config,
        Err(error) => return (78, error.to_string()),
    };
    config.socket = options.socket.unwrap_or(config.socket);
    config.journal = options.journal.unwrap_or(config.journal);
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
        ServerError::Socket { .. } => 73,
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
