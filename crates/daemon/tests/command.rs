//! The command line of bobtaild, and what its source must not do.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

#[path = "support/folder.rs"]
mod folder;

fn bobtaild(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bobtaild"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn help_and_version_are_answers() {
    for (argument, expected) in [("--help", "--check-config"), ("--version", "bobtaild 0.")] {
        let output = bobtaild(&[argument]);
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout).unwrap().contains(expected));
    }
}

#[test]
fn what_is_not_understood_is_one_line_and_64() {
    for arguments in [&["--sokcet"][..], &["--socket"], &["start"]] {
        let output = bobtaild(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert_eq!(
            output.stderr.iter().filter(|byte| **byte == b'\n').count(),
            1
        );
    }
}

#[test]
fn a_configuration_is_checked_without_touching_anything() {
    let folder = folder::Folder::new();
    let path = folder.0.join("b.toml");
    let check = || bobtaild(&["--check-config", "--config", path.to_str().unwrap()]);
    folder.write("b.toml", "");
    assert_eq!(check().status.code(), Some(0));
    folder.write("b.toml", "\nallow = 3");
    let output = check();
    assert_eq!(output.status.code(), Some(78));
    let line = format!("bobtaild: {}:2: allow: is not a list\n", path.display());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), line);
    fs::remove_file(&path).unwrap();
    assert_eq!(check().status.code(), Some(78));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
}

#[test]
fn what_checks_and_what_guards_are_not_asked_for_at_once() {
    let folder = folder::Folder::new();
    let path = folder.write("b.toml", "");
    let config = ["--config", path.to_str().unwrap()];
    for (one, other) in [
        ("--check-config", "--stand-guard"),
        ("--stand-guard", "--check-config"),
        ("--check-config", "--restore"),
        ("--restore", "--stand-guard"),
    ] {
        let output = bobtaild(&[one, config[0], config[1], other]);
        assert_eq!(output.status.code(), Some(64), "{one} {other}");
        let line = format!(
            "bobtaild: {one} and {other} are two orders, of which one is carried out; \
             see bobtaild --help\n"
        );
        assert_eq!(String::from_utf8(output.stderr).unwrap(), line);
    }
    let keep = ["--keep", "/nowhere", "--check-config"];
    assert_eq!(bobtaild(&keep).status.code(), Some(64));
}

#[test]
fn files_that_are_one_are_refused_however_they_are_named() {
    let folder = folder::Folder::new();
    let journal = folder.0.join("state.json");
    let socket = folder.0.join("state.new");
    let path = folder.write("b.toml", &format!("journal = {journal:?}"));
    let check = |socket: &Path| {
        let (path, socket) = (path.to_str().unwrap(), socket.to_str().unwrap());
        bobtaild(&["--check-config", "--config", path, "--socket", socket])
    };
    // The journal is written beside itself first.
    for socket in [&socket, &journal, &folder.0.join("../state.json")] {
        let output = check(socket);
        let said = String::from_utf8(output.stderr).unwrap();
        if socket.ends_with("../state.json") {
            assert_eq!(output.status.code(), Some(0), "{said}");
            continue;
        }
        assert_eq!(output.status.code(), Some(78), "{said}");
        assert_eq!(said.matches('\n').count(), 1, "{said}");
        assert!(said.contains(journal.to_str().unwrap()), "{said}");
        assert!(said.contains(socket.to_str().unwrap()), "{said}");
    }
    assert_eq!(check(&folder.0.join("state.sock")).status.code(), Some(0));
}

#[test]
fn a_journal_that_is_a_pipe_is_refused_and_not_waited_for() {
    let folder = folder::Folder::new();
    let journal = folder.0.join("state.json");
    mkfifo(&journal, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let path = folder.write("b.toml", &format!("journal = {journal:?}"));
    let output = bobtaild(&["--restore", "--config", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(74));
    let line = format!(
        "bobtaild: journal {}: it is no file; put levers back by hand, then delete it\n",
        journal.display()
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), line);
}

#[test]
fn a_path_that_depends_on_where_one_is_is_refused_as_in_the_configuration() {
    let folder = folder::Folder::new();
    let path = folder.write("b.toml", "");
    for (option, value) in [
        ("--socket", "rel"),
        ("--journal", "rel/j.json"),
        ("--socket", ""),
    ] {
        for order in [&[][..], &["--check-config"], &["--restore"]] {
            let mut command = Command::new("timeout");
            command.arg("20").arg(env!("CARGO_BIN_EXE_bobtaild"));
            let command = command.arg("--config").arg(&path).args([option, value]);
            let output = command.args(order).current_dir(&folder.0).output().unwrap();
            assert_eq!(output.status.code(), Some(64), "{order:?}");
            let line = format!("bobtaild: {option}: \"{value}\" is not an absolute path\n");
            assert_eq!(String::from_utf8(output.stderr).unwrap(), line);
        }
    }
    assert_eq!(folder.names(), ["b.toml"]);
}

#[test]
fn no_daemon_at_a_socket_is_told_once_with_its_path() {
    let why = "cannot connect to /nowhere/b.sock: No such file or directory";
    let output = bobtaild(&["--offers", "/nowhere/b.sock", "--lever", "auto"]);
    assert_eq!(output.status.code(), Some(69));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    let line = format!("bobtaild: {why}\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), line);
    let output = Command::new(env!("CARGO_BIN_EXE_bobtaild-ask"))
        .args(["/nowhere/b.sock", "offer", "cpufreq-min-max", "0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(69));
    let line = format!("bobtaild-ask: {why}\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), line);
}

#[test]
fn a_unit_does_not_start_again_what_cannot_run() {
    let unit = include_str!("../../../packaging/bobtaild.service");
    let values = |key: &str| -> Vec<&str> {
        let lines = unit.lines().filter_map(|line| line.strip_prefix(key));
        let lines = lines.filter_map(|line| line.strip_prefix('='));
        lines.flat_map(str::split_whitespace).collect()
    };
    // As the guide tells them: usage, a damaged journal, another bobtaild, the configuration.
    assert_eq!(values("RestartPreventExitStatus"), ["64", "74", "75", "78"]);
    assert_ne!(values("StartLimitIntervalSec"), ["0"], "without end");
    assert_eq!(values("StartLimitBurst").len(), 1);
    assert_eq!(
        values("ExecStartPre").len(),
        0,
        "the daemon checks by itself"
    );
    assert_eq!(values("LimitNOFILE"), ["65536"]);
}

/// A step of the wall clock has nothing to act on: nothing that decides about a lever, holds one
/// or moves one reads it.
#[test]
fn no_source_reads_a_clock_that_can_step() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources = ["daemon/src", "control/src", "policy/src", "probe/src/act"];
    let mut folders: Vec<_> = sources.map(|folder| crates.join(folder)).to_vec();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // The kernel stamps what it receives by that clock: for the latencies that are told, by
            // which nothing is decided.
            if path.ends_with("act/exchanges.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for word in ["SystemTime", "CLOCK_REALTIME", "gettimeofday"] {
                assert!(!text.contains(word), "{} in {}", word, path.display());
            }
            files += 1;
        }
    }
    assert!(files > 60, "{files} files");
}
