//! Clients that mean harm, and daemons where they must not be: the others go on being served.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use bobtail_control::LeverKind;
use bobtail_daemon::client::{Client, ClientError};
use bobtail_daemon::protocol::{Answer, Refusal, Request, VERSION, Want};
use bobtail_policy::Speed;
use bobtail_testkit::Random;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use running::{BASE, Daemon, PATIENCE, Site, raw, until};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/running.rs"]
mod running;

const HELLO: Request = Request::Hello {
    oldest: VERSION,
    newest: VERSION,
};
const WANT: Want = Want {
    lever: LeverKind::CpufreqMinMax,
    target: 0,
};

/// Sends what may not be taken; whether it was.
fn say(stream: &UnixStream, bytes: &[u8]) -> bool {
    send(stream.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL).is_ok()
}

/// The refusals until the connection ends.
fn last_words(stream: &UnixStream) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let mut buffer = [0; 64];
    let mut is_reset = false;
    loop {
        let length = match recv(stream.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
            Ok(length @ 1..) => length,
            // What was sent before the daemon closed over unread frames comes after this, once.
            Err(Errno::ECONNRESET) if !is_reset => {
                is_reset = true;
                continue;
            }
            _ => break,
        };
        if let (Answer::Refused { refusal, .. }, _) = Answer::decode(&buffer[..length]).unwrap() {
            refusals.push(refusal);
        }
    }
    refusals
}

fn expect_service(site: &Site) {
    let mut client = site.client();
    client.raise(WANT.lever, 0, Speed::Peak).unwrap();
    assert_eq!(site.min_khz(0), "4000000");
    client.lower(WANT.lever, 0).unwrap();
    assert_eq!(site.min_khz(0), BASE);
}

#[test]
fn garbage_ends_the_connection_that_sends_it_and_its_claims() {
    let site = Site::new("");
    let _daemon = site.start();
    let mut random = Random::new(0x0b0b_7a14);
    for round in 0..200 {
        let stream = raw(&site.socket());
        if round % 2 == 0 {
            say(&stream, HELLO.encode(1, false).bytes());
            let speed = Speed::Peak;
            say(
                &stream,
                Request::Raise { want: WANT, speed }
                    .encode(2, false)
                    .bytes(),
            );
        }
        let bytes: Vec<u8> = (0..1 + random.below(200))
            .map(|_| random.next_u64() as u8)
            .collect();
        say(&stream, &bytes);
        assert_eq!(last_words(&stream), [Refusal::BadFrame], "{bytes:02x?}");
        site.expect_base();
    }
    expect_service(&site);
}

#[test]
fn what_is_too_long_or_empty_ends_the_connection() {
    let site = Site::new("");
    let _daemon = site.start();
    for length in [0, 1, 7, 33, 34, 65, 4096, 60_000] {
        let stream = raw(&site.socket());
        say(&stream, &vec![1; length]);
        let expected = if length == 0 {
            vec![]
        } else {
            vec![Refusal::BadFrame]
        };
        assert_eq!(last_words(&stream), expected, "{length} bytes");
    }
    expect_service(&site);
}

#[test]
fn who_says_nothing_is_not_waited_for() {
    let site = Site::new("heartbeat_timeout_ms = 1000");
    let _daemon = site.start();
    let streams: Vec<_> = (0..5).map(|_| raw(&site.socket())).collect();
    for stream in &streams {
        assert_eq!(last_words(stream), [Refusal::Expired]);
    }
}

#[test]
fn who_asks_without_reading_is_let_go() {
    let site = Site::new("requests_per_second = 1000000");
    let _daemon = site.start();
    let stream = raw(&site.socket());
    say(&stream, HELLO.encode(1, false).bytes());
    let speed = Speed::Peak;
    say(
        &stream,
        Request::Raise { want: WANT, speed }.encode(2, true).bytes(),
    );
    until("its connection ends", || {
        !say(&stream, Request::Ask(WANT).encode(3, false).bytes())
    });
    site.expect_base();
    expect_service(&site);
}

#[test]
fn a_flood_ends_and_others_are_served_meanwhile() {
    let site = Site::new("requests_per_second = 100");
    let _daemon = site.start();
    let stream = raw(&site.socket());
    say(&stream, HELLO.encode(1, false).bytes());
    until("it is stopped", || {
        expect_service(&site);
        (0..200).any(|_| !say(&stream, Request::Beat.encode(1, true).bytes()))
    });
    assert!(last_words(&stream).contains(&Refusal::Flood));
    expect_service(&site);
}

#[test]
fn too_many_connections_are_refused_and_places_come_back() {
    let site = Site::new("max_clients = 8\nmax_clients_per_user = 8");
    let _daemon = site.start();
    let full = || {
        let connected: Vec<_> = (0..8)
            .map_while(|_| Client::connect(&site.socket(), PATIENCE).ok())
            .collect();
        (connected.len() == 8).then_some(connected)
    };
    let mut clients = None;
    until("all places are had", || {
        clients = full();
        clients.is_some()
    });
    for _ in 0..100 {
        match Client::connect(&site.socket(), PATIENCE) {
            Err(ClientError::Refused { refusal, .. }) => {
                assert_eq!(refusal, Refusal::TooManyClients);
            }
            other => panic!("{other:?}"),
        }
    }
    drop(clients);
    until("a place is free", || {
        Client::connect(&site.socket(), PATIENCE).is_ok()
    });
}

#[test]
fn who_is_not_allowed_is_refused() {
    let site = Site::new("");
    let config = fs::read_to_string(site.config()).unwrap();
    let user = nix::unistd::geteuid();
    let nobody = config.replace(&format!("users = [{user}]"), "users = [4294967294]");
    assert_ne!(nobody, config);
    fs::write(site.config(), nobody).unwrap();
    let mut daemon = site.command().spawn().unwrap();
    until("it listens", || site.log().contains("listens"));
    let refused = Client::connect(&site.socket(), PATIENCE).unwrap_err();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let is_told = matches!(
        refused,
        ClientError::Refused {
            refusal: Refusal::NotAllowed,
            ..
        }
    );
    assert!(is_told, "{refused}");
    assert!(site.log().contains("allows this user nothing"));
}

#[test]
fn a_second_daemon_leaves_the_first_alone() {
    let site = Site::new("");
    let _daemon = site.start();
    let _holder = site.holder("hold");
    let before = site.folder.names();
    let other_journal = site.folder.0.join("other.json");
    let other_journal = other_journal.to_str().unwrap();
    // The journal has a lock, and so has the socket.
    for arguments in [&[][..], &["--journal", other_journal], &["--restore"]] {
        let mut second = Daemon {
            child: site.command().args(arguments).spawn().unwrap(),
        };
        let mut ended = None;
        until("it ends", || {
            ended = second.child.try_wait().unwrap();
            ended.is_some()
        });
        assert_eq!(ended.unwrap().code(), Some(75), "{arguments:?}");
        assert_eq!(site.folder.names(), before, "{arguments:?}");
    }
    assert_eq!(site.min_khz(0), "4000000");
    assert!(site.log().contains("another bobtaild has it"));
}

#[test]
fn what_must_not_be_trusted_or_replaced_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let refused = |site: &Site, code: i32, line: &str| {
        let status = site.command().status().unwrap();
        assert_eq!(status.code(), Some(code), "{}", site.log());
        assert!(
            site.log().lines().last().unwrap().contains(line),
            "{}",
            site.log()
        );
        site.expect_no_guards();
        assert!(!site.folder.0.join("journal.json.lock").exists(), "{line}");
        assert!(!site.folder.0.join("bobtaild.sock.lock").exists(), "{line}");
    };
    let site = Site::new("");
    fs::write(site.journal(), "{}").unwrap();
    fs::set_permissions(site.journal(), fs::Permissions::from_mode(0o666)).unwrap();
    refused(&site, 74, "others can make bobtaild write levers by it");
    fs::set_permissions(site.journal(), fs::Permissions::from_mode(0o600)).unwrap();
    refused(&site, 74, "put levers back by hand, then delete it");
    fs::remove_file(site.journal()).unwrap();
    fs::write(site.socket(), "mine").unwrap();
    refused(&site, 73, "there is a file that is no socket");
    assert_eq!(fs::read_to_string(site.socket()).unwrap(), "mine");
    fs::remove_file(site.socket()).unwrap();
    // A folder is made, no tree.
    let nowhere = site.folder.0.join("nowhere/deeper/journal.json");
    let status = site
        .command()
        .arg("--journal")
        .arg(nowhere)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(73), "{}", site.log());
    assert!(!site.folder.0.join("nowhere").exists());
    // A socket file that a killed daemon left is no obstacle.
    drop(std::os::unix::net::UnixListener::bind(site.socket()).unwrap());
    let _daemon = site.start();
}
