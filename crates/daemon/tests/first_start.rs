//! A daemon's first start by hand: the folders that it makes, and that one which fails leaves
//! nothing behind.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use running::{BASE, Daemon, Site, until};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/running.rs"]
mod running;

/// The site's daemon with its files there.
fn with_files(site: &Site, journal: &Path, socket: &Path) -> Command {
    let mut command = site.command();
    command
        .arg("--journal")
        .arg(journal)
        .arg("--socket")
        .arg(socket);
    command
}

#[test]
fn the_folders_of_journal_and_socket_are_made() {
    let site = Site::new("");
    let (one, other) = (site.folder.0.join("one"), site.folder.0.join("other"));
    let socket = other.join("b.sock");
    let mut command = with_files(&site, &one.join("j.json"), &socket);
    let mut daemon = Daemon {
        child: command.spawn().unwrap(),
    };
    until("it listens", || site.log().contains("listens at"));
    for folder in [&one, &other] {
        let made = fs::metadata(folder).unwrap();
        assert_eq!(made.mode() & 0o7777, 0o755, "clients come through it");
        assert_eq!(made.uid(), nix::unistd::geteuid().as_raw());
    }
    assert!(socket.exists());
    daemon.child.kill().unwrap();
    daemon.wait();
    site.expect_no_guards();
}

#[test]
fn a_start_that_fails_leaves_what_there_was() {
    let site = Site::new("");
    site.folder.write("c.toml", "mine");
    fs::write(site.folder.0.join("log.txt"), "").unwrap();
    let mistaken = site.folder.0.join("c.toml");
    let (journal, socket) = (site.folder.0.join("j.json"), site.folder.0.join("b.sock"));
    let (own, tree) = (site.folder.0.join("own"), site.folder.0.join("no/tree"));
    let before = site.folder.names();
    for (journal, socket, code) in [
        (&mistaken, &socket, 74),
        (&journal, &mistaken, 73),
        (&own.join("j.json"), &mistaken, 73),
        (&journal, &tree.join("b.sock"), 73),
        (&tree.join("j.json"), &socket, 73),
        // A folder above that is none.
        (&mistaken.join("j.json"), &socket, 73),
    ] {
        let status = with_files(&site, journal, socket).status().unwrap();
        assert_eq!(status.code(), Some(code), "{}", site.log());
        site.expect_no_guards();
        assert_eq!(site.folder.names(), before, "{}", site.log());
        assert_eq!(fs::read_to_string(&mistaken).unwrap(), "mine");
    }
    let mut command = site.command();
    let status = command
        .arg("--restore")
        .arg("--journal")
        .arg(&mistaken)
        .status();
    assert_eq!(status.unwrap().code(), Some(74));
    assert_eq!(site.folder.names(), before, "{}", site.log());
}

#[test]
fn a_start_that_fails_leaves_a_lever_that_is_not_back_its_journal_and_its_guard() {
    let site = Site::new("");
    let _holder = site.leave_raised();
    site.expect_no_guards();
    site.swap_knob(0);
    let mistaken = site.folder.write("c.toml", "mine");
    let status = with_files(&site, &site.journal(), &mistaken)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(73), "{}", site.log());
    assert!(site.journal().exists());
    site.swap_knob(0);
    until("its guard puts it back", || site.min_khz(0) == BASE);
    site.expect_no_guards();
}

#[test]
fn nobody_makes_a_folder_where_he_is_a_guest() {
    let site = Site::new("");
    let folder = &site.folder.0;
    let Some(mut command) = folder::as_nobody(env!("CARGO_BIN_EXE_bobtaild"), folder) else {
        return;
    };
    // He may write there, which is not enough.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    command.arg("--config").arg(site.config());
    command.arg("--journal").arg(folder.join("run/j.json"));
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(73), "{said}");
    assert!(said.contains("run/j.json.lock: No such file"), "{said}");
    assert!(!folder.join("run").exists());
}
