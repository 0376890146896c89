//! Who else may write the file of a daemon’s configuration: then nobody is served by it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output};

use folder::Folder;

#[path = "support/folder.rs"]
mod folder;

/// Not root, nor whoever runs the tests.
const OTHER: u32 = 65_534;
/// Orders that read a configuration; the first is to serve.
const ORDERS: [&[&str]; 4] = [&[], &["--check-config"], &["--restore"], &["--stand-guard"]];

/// One that takes it for sound is ended: it would serve or guard without end.
fn bobtaild(config: &Path, order: &[&str]) -> Output {
    Command::new("timeout")
        .arg("20")
        .arg(env!("CARGO_BIN_EXE_bobtaild"))
        .arg("--config")
        .arg(config)
        .args(order)
        .output()
        .unwrap()
}

/// Refused with this line about the file, whatever is to be done with it.
fn refused(folder: &Folder, config: &Path, why: &str) {
    for order in ORDERS {
        let output = bobtaild(config, order);
        let line = format!("bobtaild: {} {why}\n", config.display());
        let said = (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        );
        assert_eq!(said, (Some(78), line), "{order:?}");
    }
    assert!(!folder.0.join("run").exists(), "nothing was begun");
}

fn is_sound(config: &Path) -> bool {
    bobtaild(config, &["--check-config"]).status.success()
}

/// A configuration in a folder, with all that it names below that.
fn configured() -> (Folder, std::path::PathBuf) {
    let folder = Folder::new();
    let place = |name| folder.0.join("run").join(name);
    let text = format!(
        "socket = {:?}\njournal = {:?}\n",
        place("b.sock"),
        place("j.json")
    );
    let path = folder.write("b.toml", &text);
    (folder, path)
}

#[test]
fn one_that_group_or_others_may_write_is_refused() {
    let (folder, path) = configured();
    assert!(is_sound(&path));
    for (mode, who) in [
        (0o664, "those of its group"),
        (0o646, "others"),
        (0o666, "others"),
        (0o620, "those of its group"),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let why = format!("has mode {mode:04o}: {who} can grant themselves every lever by it");
        refused(&folder, &path, &why);
    }
    for mode in [0o600, 0o644, 0o400] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(is_sound(&path), "{mode:o}");
    }
}

#[test]
fn one_of_another_user_is_refused() {
    let (folder, path) = configured();
    // Only root gives files away.
    if let Err(why) = chown(&path, Some(OTHER), None) {
        assert!(
            std::env::var_os("CI").is_none(),
            "no file of another user: {why}"
        );
        return;
    }
    let why = "belongs to user 65534, neither root nor the user of this bobtaild: its owner can \
               grant himself every lever";
    refused(&folder, &path, why);
    // Of who runs the daemon it is as good as root's.
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    for owner in [OTHER, 0] {
        chown(&path, Some(owner), None).unwrap();
        let program = env!("CARGO_BIN_EXE_bobtaild");
        let mut command = folder::as_nobody(program, &folder.0).expect("root can");
        command.arg("--config").arg(&path);
        let output = command.arg("--check-config").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "of {owner}: {said}");
    }
}

#[test]
fn what_counts_is_the_file_that_a_link_leads_to() {
    let (folder, path) = configured();
    let link = folder.0.join("link.toml");
    symlink(&path, &link).unwrap();
    assert!(is_sound(&link));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    refused(
        &folder,
        &link,
        "has mode 0666: others can grant themselves every lever by it",
    );
}

#[test]
fn the_null_device_is_an_empty_one() {
    let folder = Folder::new();
    let journal = folder.0.join("j.json");
    let journal = journal.to_str().unwrap();
    let null = Path::new("/dev/null");
    assert!(is_sound(null));
    let output = bobtaild(null, &["--restore", "--journal", journal]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
}
