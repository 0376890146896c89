//! What a daemon of root's needs no capability for, as in a pod that drops them all.

use std::process::Command;

use running::{Site, until};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/running.rs"]
mod running;

/// The site's daemon as root without any capability; none where the tests are not root's.
fn powerless(site: &Site) -> Option<Command> {
    let daemon = site.command();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-all", "--inh-caps", "-all"]);
    command.args(["--clear-groups", "--"]);
    command.arg(daemon.get_program()).args(daemon.get_args());
    nix::unistd::geteuid().is_root().then_some(command)
}

#[test]
fn a_socket_for_everybody_needs_none() {
    let site = Site::new("socket_mode = \"0666\"");
    let Some(mut command) = powerless(&site) else {
        return;
    };
    let _daemon = site.start_by(&mut command);
    site.client();
}

#[test]
fn a_socket_for_a_group_that_is_not_the_daemons_says_which_it_needs() {
    let site = Site::new("socket_group = 12");
    let Some(mut command) = powerless(&site) else {
        return;
    };
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(73));
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "it is to be of group 12, which needs CAP_CHOWN or a daemon of that group";
    assert!(said.contains(expected), "{said}");
    until("its guard ends", || site.guards().is_empty());
}
