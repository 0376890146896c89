//! Configurations, good and bad: a bad one is told in one line with file, line and key.

use std::path::Path;
use std::time::Duration;

use bobtail_control::LeverKind;
use bobtail_daemon::config::Config;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(Path::new("b.toml"), text).map_err(|error| error.to_string())
}

#[test]
fn the_shipped_configuration_is_sound() {
    let text = include_str!("../../../packaging/bobtaild.toml");
    let config = parse(text).unwrap();
    assert_eq!(config.allow.len(), 1, "and names one user");
    let manifest = include_str!("../../../packaging/bobtaild.daemonset.yaml");
    let (_, text) = manifest.split_once("bobtaild.toml: |\n").unwrap();
    let (text, _) = text.split_once("\n---").unwrap();
    assert_eq!(parse(text).unwrap().allow, config.allow, "the same rights");
    assert_eq!(
        config.allow[0].levers,
        [LeverKind::CpufreqMinMax],
        "which never lowers a CPU"
    );
}

#[test]
fn every_key_is_read() {
    let config = parse(
        r#"
            socket = "/a/b.sock"
            socket_mode = "0600"
            socket_group = 12
            journal = "/a/j.json"
            heartbeat_timeout_ms = 250
            max_clients = 3
            max_clients_per_user = 2
            max_claims = 4
            requests_per_second = 77
            [lever.cpufreq-min-max]
            base = 2_600_000
            peak = 4_000_000
            [lever.cpufreq-userspace]
            base = 2_000_000
            [[allow]]
            users = ["root", 1000]
            groups = [0x10]
            levers = ["cpufreq-userspace", "cpufreq-min-max"]
            cpus = "0-2,8"
            lowest = 1
            highest = 3_300_000
        "#,
    )
    .unwrap();
    assert_eq!(config.socket, Path::new("/a/b.sock"));
    assert_eq!((config.socket_mode, config.socket_group), (0o600, Some(12)));
    assert_eq!(config.journal, Path::new("/a/j.json"));
    assert_eq!(config.heartbeat_timeout, Duration::from_millis(250));
    assert_eq!((config.max_clients, config.max_clients_per_user), (3, 2));
    assert_eq!((config.max_claims, config.requests_per_second), (4, 77));
    assert_eq!(config.asked(LeverKind::CpufreqMinMax).base, Some(2_600_000));
    let userspace = config.asked(LeverKind::CpufreqUserspace);
    assert_eq!((userspace.base, userspace.peak), (Some(2_000_000), None));
    let rule = &config.allow[0];
    assert_eq!(
        (rule.users.as_slice(), rule.groups.as_slice()),
        (&[0, 1000][..], &[16][..])
    );
    assert_eq!(rule.cpus.as_deref(), Some(&[0, 1, 2, 8][..]));
    assert_eq!((rule.lowest, rule.highest), (Some(1), Some(3_300_000)));
    assert_eq!(rule.levers.len(), 2);
}

#[test]
fn what_is_wrong_is_told_with_line_and_key() {
    let allow = "[[allow]]\nusers = [1]\nlevers = [\"burst\"]\n";
    let cases = [
        (
            "\nsokcet = \"/a\"",
            "b.toml:2: sokcet: is not a key of this configuration",
        ),
        ("socket = 1", "b.toml:1: socket: is not a text"),
        (
            "socket = \"a\"",
            "b.toml:1: socket: \"a\" is not an absolute path",
        ),
        ("socket_mode = 660", "b.toml:1: socket_mode: is not a text"),
        (
            "socket_mode = \"9\"",
            "b.toml:1: socket_mode: is not a file mode such as \"0660\"",
        ),
        (
            "max_clients = 0",
            "b.toml:1: max_clients: 0 is not between 1 and 512",
        ),
        (
            "max_claims = 1.5",
            "b.toml:1: max_claims: is not a whole number",
        ),
        (
            "heartbeat_timeout_ms = 99999999999999999999",
            "b.toml:1: heartbeat_timeout_ms: 99999999999999999999 is not between 50 and 600000",
        ),
        ("allow = 1", "b.toml:1: allow: is not a list"),
        (
            "[[allow]]\nlevers = [\"burst\"]",
            "b.toml:1: allow[0]: names neither users nor groups",
        ),
        (
            "[[allow]]\nusers = [1]",
            "b.toml:1: allow[0]: names no levers",
        ),
        (
            "[[allow]]\nusers = [\"no such user\"]",
            "b.toml:2: allow[0].users: there is no user \"no such user\"",
        ),
        (
            "socket = \"/a/b\"\njournal = \"/a/./b\"",
            "b.toml:2: journal: the journal \"/a/./b\" and the socket \"/a/b\" want the same file \
             \"/a/b\"",
        ),
        (
            "journal = \"/a/b.json\"\nsocket = \"/a/b.new\"",
            "b.toml:1: journal: the journal \"/a/b.json\" and the socket \"/a/b.new\" want the \
             same file \"/a/b.new\"",
        ),
        (
            "socket = \"/run/bobtail/journal.json.lock\"",
            "b.toml:1: socket: the journal \"/run/bobtail/journal.json\" and the socket \
             \"/run/bobtail/journal.json.lock\" want the same file \
             \"/run/bobtail/journal.json.lock\"",
        ),
        (
            "journal = \"/a/b.new\"",
            "b.toml:1: journal: \"/a/b.new\" is what a journal is written as before it is one",
        ),
        (
            "[[allow]]\nusers = [1]\nlevers = [\n\"burst\",\n\"emulated\"]",
            "b.toml:5: allow[0].levers: \"emulated\" is imitated for one command of bobtail boost, \
             and no configuration can give it",
        ),
        (
            "[lever.emulated]",
            "b.toml:1: lever.emulated: \"emulated\" is imitated for one command of bobtail boost, \
             and no configuration can give it",
        ),
        (
            "[lever.turbo]",
            "b.toml:1: lever.turbo: \"turbo\" is not a lever (cpufreq-userspace, cpufreq-min-max, \
             energy-preference, intel-min-perf, uclamp, quota, burst, emulated)",
        ),
        (
            "[[allow]]\nusers = [1]\nlevers = [\"burst\",\n\"cpufreq-userspace\"]",
            "b.toml:4: allow[0].levers: cpufreq-userspace holds the CPUs at its base while \
             somebody claims it, and [lever.cpufreq-userspace] has none",
        ),
        (
            "[lever.burst]\nbase = 2\npeak = 1",
            "b.toml:1: lever.burst: 2 is above 1, so that nothing is between",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).unwrap_err(), expected);
    }
    let second = format!("{allow}{allow}cpus = \"3-1\"");
    let expected = "b.toml:7: allow[1].cpus: \"3-1\" is not a list such as 0-3,8";
    assert_eq!(parse(&second).unwrap_err(), expected);
    let third = format!("{allow}lowest = 5\nhighest = 4\n");
    let expected = "b.toml:1: allow[0]: 5 is above 4, so that nothing is between";
    assert_eq!(parse(&third).unwrap_err(), expected);
    for syntax in ["socket = ", "\n\n[[allow", "socket = \"a\"\nsocket = \"b\""] {
        let error = parse(syntax).unwrap_err();
        let line = syntax.lines().count();
        assert!(error.starts_with(&format!("b.toml:{line}: ")), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let unreadable = Config::load(Path::new("/nowhere/b.toml")).unwrap_err();
    assert!(
        unreadable
            .to_string()
            .starts_with("/nowhere/b.toml: No such file")
    );
}

#[test]
fn an_empty_configuration_allows_nobody_anything() {
    assert_eq!(parse("").unwrap(), Config::default());
    assert_eq!(Config::default().allow, []);
}
