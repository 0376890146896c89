//! What one client may ask: the rules of the configuration that name its user or group.
//!
//! Who asks is what the kernel says of the other end of the socket, never what the client says.

use bobtail_control::{Domain, LeverKind};

use crate::config::{Config, Rule};

/// The other end of a connection, as of when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub pid: i32,
    pub uid: u32,
    /// Its primary group; the kernel does not tell the others with it.
    pub gid: u32,
}

/// How far a claim may go; what is none is bounded by the lever alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    pub lowest: Option<u32>,
    pub highest: Option<u32>,
}

impl Bounds {
    /// The nearest value within, of a lever that goes from `lowest` to `highest`.
    pub fn clamp(&self, value: u32, lowest: u32, highest: u32) -> u32 {
        let top = self.highest.unwrap_or(highest).clamp(lowest, highest);
        let bottom = self.lowest.unwrap_or(lowest).clamp(lowest, top);
        value.clamp(bottom, top)
    }
}

fn speaks_of(rule: &Rule, peer: &Peer) -> bool {
    rule.users.contains(&peer.uid) || rule.groups.contains(&peer.gid)
}

/// Whether any rule names the peer.
pub fn may_connect(config: &Config, peer: &Peer) -> bool {
    config.allow.iter().any(|rule| speaks_of(rule, peer))
}

/// How far the peer may raise a lever on a domain: the first rule that names all three; none when
/// no rule does. Of CPUs a rule must allow each, since raising one raises the others; of groups,
/// one that the group is in.
pub fn bounds(config: &Config, peer: &Peer, lever: LeverKind, domain: &Domain) -> Option<Bounds> {
    let is_there = |rule: &Rule| match domain {
        Domain::Cpus(cpus) => {
            let everywhere = |allowed: &Vec<u32>| cpus.iter().all(|cpu| allowed.contains(cpu));
            rule.cpus.as_ref().is_none_or(everywhere)
        }
        Domain::Group(group) => {
            let within = |roots: &Vec<String>| roots.iter().any(|root| is_within(group, root));
            rule.cgroups.as_ref().is_none_or(within)
        }
        Domain::Thread(_) => true,
    };
    let allows =
        |rule: &&Rule| speaks_of(rule, peer) && rule.levers.contains(&lever) && is_there(rule);
    config.allow.iter().find(allows).map(|rule| Bounds {
        lowest: rule.lowest,
        highest: rule.highest,
    })
}

/// Whether a group is that one or below it; both without slashes at the ends.
fn is_within(group: &str, root: &str) -> bool {
    let rest = group.strip_prefix(root);
    root.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer = Peer {
        pid: 9,
        uid: 1000,
        gid: 100,
    };

    fn config(rule: Rule) -> Config {
        Config {
            allow: vec![rule],
            ..Config::default()
        }
    }

    fn rule() -> Rule {
        Rule {
            users: vec![1000],
            levers: vec![LeverKind::CpufreqMinMax],
            cpus: Some(vec![0, 1]),
            ..Rule::default()
        }
    }

    #[test]
    fn a_rule_must_name_user_lever_and_every_cpu_that_moves() {
        let config = config(rule());
        let ask = |peer: &Peer, lever, cpus: &[u32]| {
            bounds(&config, peer, lever, &Domain::Cpus(cpus.to_vec())).is_some()
        };
        assert!(ask(&PEER, LeverKind::CpufreqMinMax, &[0, 1]));
        assert!(!ask(&PEER, LeverKind::CpufreqUserspace, &[0]));
        assert!(!ask(&PEER, LeverKind::CpufreqMinMax, &[1, 2]));
        let other = Peer { uid: 1001, ..PEER };
        assert!(!ask(&other, LeverKind::CpufreqMinMax, &[0]));
        assert!(!may_connect(&config, &other));
    }

    #[test]
    fn a_group_is_as_good_as_a_user() {
        let config = config(Rule {
            users: vec![],
            groups: vec![100],
            ..rule()
        });
        let cpu = Domain::Cpus(vec![0]);
        assert!(bounds(&config, &PEER, LeverKind::CpufreqMinMax, &cpu).is_some());
        assert!(!may_connect(&config, &Peer { gid: 0, ..PEER }));
    }

    #[test]
    fn a_rule_for_groups_holds_for_what_is_below_them() {
        let config = config(Rule {
            levers: vec![LeverKind::Quota],
            cgroups: Some(vec!["web".to_owned(), "a/b".to_owned()]),
            ..rule()
        });
        for (group, is_allowed) in [
            ("web", true),
            ("web/one", true),
            ("website", false),
            ("a", false),
            ("a/b/c", true),
            ("", false),
        ] {
            let domain = Domain::Group(group.to_owned());
            let found = bounds(&config, &PEER, LeverKind::Quota, &domain);
            assert_eq!(found.is_some(), is_allowed, "{group}");
        }
    }

    #[test]
    fn values_are_clamped_to_rule_and_lever() {
        let bounds = |lowest, highest| Bounds { lowest, highest };
        assert_eq!(bounds(None, Some(30)).clamp(99, 10, 40), 30);
        assert_eq!(bounds(Some(20), None).clamp(0, 10, 40), 20);
        assert_eq!(bounds(None, None).clamp(99, 10, 40), 40);
        assert_eq!(
            bounds(Some(50), Some(60)).clamp(30, 10, 40),
            40,
            "rule above"
        );
        assert_eq!(bounds(Some(1), Some(2)).clamp(30, 10, 40), 10, "rule below");
    }
}
