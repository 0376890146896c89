//! The command line of bobtaild, and what its source must not do.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

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
    fs::write(&path, "").unwrap();
    assert_eq!(check().status.code(), Some(0));
    fs::write(&path, "\nallow = 3").unwrap();
    let output = check();
    assert_eq!(output.status.code(), Some(78));
    let line = format!("bobtaild: {}:2: allow: is not a list\n", path.display());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), line);
    fs::remove_file(&path).unwrap();
    assert_eq!(check().status.code(), Some(78));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
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
