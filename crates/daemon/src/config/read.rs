//! Turns a TOML document into a configuration, with the line and key of whatever is wrong.
//!
//! Bounds stand here, beside the keys, so that no value reaches the daemon that it could not hold.

use std::path::Path;
use std::time::Duration;

use bobtail_control::{Asked, LeverKind};
use toml::de::DeTable;

use super::values::{
    Value, Wrong, array, cgroup, cpus, each, group, in_order, lever, lever_named, number, octal,
    table, text, unknown, user, wrong,
};
use super::{Config, ConfigError, Rule};

/// A driver beats every 10 ms at most, and may be late.
const HEARTBEAT_MS_MIN: u32 = 50;
pub(super) fn config(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let line_of = |at: usize| 1 + text[..at.min(text.len())].matches('\n').count();
    let document = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        line: line_of(error.span().map_or(0, |span| span.start)),
        what: error.message().replace('\n', ", "),
    })?;
    read(document.get_ref()).map_err(|wrong| ConfigError::Wrong {
        path: path.to_owned(),
        line: line_of(wrong.at),
        key: wrong.key,
        what: wrong.what,
    })
}

fn read(document: &DeTable) -> Result<Config, Wrong> {
    // Levers before the rules, which are held against them.
    let levers = document.get("lever").map(levers).transpose()?;
    let mut config = Config {
        levers: levers.unwrap_or_default(),
        ..Config::default()
    };
    for (name, value) in document {
        let key = name.get_ref().as_ref();
        match key {
            "socket" => config.socket = text(key, value)?.into(),
            "socket_mode" => config.socket_mode = octal(key, value)?,
            "socket_group" => config.socket_group = Some(group(key, value)?),
            "journal" => config.journal = text(key, value)?.into(),
            "heartbeat_timeout_ms" => {
                let ms = number(key, value, HEARTBEAT_MS_MIN, 600_000)?;
                config.heartbeat_timeout = Duration::from_millis(ms.into());
            }
            "max_clients" => config.max_clients = number(key, value, 1, 512)? as usize,
            "max_clients_per_user" => {
                config.max_clients_per_user = number(key, value, 1, 512)? as usize;
            }
            "max_claims" => config.max_claims = number(key, value, 1, 4096)?,
            "requests_per_second" => {
                config.requests_per_second = number(key, value, 1, 1_000_000)?;
            }
            "lever" => {}
            "allow" => config.allow = rules(value, &config.levers)?,
            _ => return Err(unknown(key, name)),
        }
    }
    if let Some((key, what)) = config.relative() {
        let at = document.get(key).map_or(0, |value| value.span().start);
        let key = key.to_owned();
        return Err(Wrong { at, key, what });
    }
    if let Some(what) = config.clash() {
        let named = ["journal", "socket"]
            .into_iter()
            .find_map(|key| Some((key, document.get(key)?.span().start)));
        let (key, at) = named.unwrap_or(("journal", 0));
        let key = key.to_owned();
        return Err(Wrong { at, key, what });
    }
    Ok(config)
}

/// `[lever.cpufreq-min-max]` and the like.
fn levers(value: &Value) -> Result<Vec<(LeverKind, Asked)>, Wrong> {
    let mut levers = Vec::new();
    for (name, table_of) in table("lever", value)? {
        let key = format!("lever.{}", name.get_ref());
        let lever = lever_named(&key, name.get_ref(), name.span().start)?;
        served(&key, lever, name.span().start)?;
        let mut asked = Asked::default();
        for (name, value) in table(&key, table_of)? {
            let key = format!("{key}.{}", name.get_ref());
            let number = || number(&key, value, 0, u32::MAX - 1).map(Some);
            match name.get_ref().as_ref() {
                "base" => asked.base = number()?,
                "peak" => asked.peak = number()?,
                "lowest" => asked.lowest = number()?,
                "highest" => asked.highest = number()?,
                _ => return Err(unknown(&key, name)),
            }
        }
        in_order(&key, table_of, asked.lowest, asked.highest)?;
        in_order(&key, table_of, asked.base, asked.peak)?;
        levers.push((lever, asked));
    }
    Ok(levers)
}

fn rules(value: &Value, levers: &[(LeverKind, Asked)]) -> Result<Vec<Rule>, Wrong> {
    let rules = array("allow", value)?.iter().enumerate();
    rules
        .map(|(index, value)| rule(&format!("allow[{index}]"), value, levers))
        .collect()
}

fn rule(prefix: &str, whole: &Value, levers: &[(LeverKind, Asked)]) -> Result<Rule, Wrong> {
    let mut rule = Rule::default();
    for (name, value) in table(prefix, whole)? {
        let key = &format!("{prefix}.{}", name.get_ref());
        match name.get_ref().as_ref() {
            "users" => rule.users = each(key, value, user)?,
            "groups" => rule.groups = each(key, value, group)?,
            "levers" => {
                rule.levers = each(key, value, |key, value| allowed(key, value, levers))?;
            }
            "cpus" => rule.cpus = Some(cpus(key, value)?),
            "cgroups" => rule.cgroups = Some(each(key, value, cgroup)?),
            "lowest" => rule.lowest = Some(number(key, value, 0, u32::MAX - 1)?),
            "highest" => rule.highest = Some(number(key, value, 0, u32::MAX - 1)?),
            _ => return Err(unknown(key, name)),
        }
    }
    if rule.users.is_empty() && rule.groups.is_empty() {
        return Err(wrong(prefix, whole, "names neither users nor groups"));
    }
    if rule.levers.is_empty() {
        return Err(wrong(prefix, whole, "names no levers"));
    }
    in_order(prefix, whole, rule.lowest, rule.highest)?;
    Ok(rule)
}

/// That a daemon with a configuration can have this lever.
fn served(key: &str, lever: LeverKind, at: usize) -> Result<(), Wrong> {
    if lever != LeverKind::Emulated {
        return Ok(());
    }
    Err(Wrong {
        at,
        key: key.to_owned(),
        what: format!(
            "\"{lever}\" is imitated for one command of bobtail boost, and no configuration can \
             give it"
        ),
    })
}

/// A lever that a rule may give. One that holds a frequency of its own takes the CPU's speed from
/// its governor, which nobody but the administrator may want.
fn allowed(key: &str, value: &Value, levers: &[(LeverKind, Asked)]) -> Result<LeverKind, Wrong> {
    let lever = lever(key, value)?;
    served(key, lever, value.span().start)?;
    let has_base = |(kind, asked): &(LeverKind, Asked)| *kind == lever && asked.base.is_some();
    if lever == LeverKind::CpufreqUserspace && !levers.iter().any(has_base) {
        let what = format!(
            "{lever} holds the CPUs at its base while somebody claims it, and [lever.{lever}] has \
             none"
        );
        return Err(wrong(key, value, what));
    }
    Ok(lever)
}
