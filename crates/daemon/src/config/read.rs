//! Turns a TOML document into a configuration, with the line and key of whatever is wrong.
//!
//! Bounds stand here, beside the keys, so that no value reaches the daemon that it could not hold.

use std::path::Path;
use std::time::Duration;

use bobtail_control::{Asked, LeverKind};
use nix::unistd::{Group, User};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Config, ConfigError, Rule};

/// No kernel has more CPUs.
const CPUS_MAX: u32 = 65_536;
/// A driver beats every 10 ms at most, and may be late.
const HEARTBEAT_MS_MIN: u32 = 50;
/// A wrong value: where in the text, under which key, and what.
struct Wrong {
    at: usize,
    key: String,
    what: String,
}

type Value<'a> = Spanned<DeValue<'a>>;

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
    let mut config = Config::default();
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
            "lever" => config.levers = levers(value)?,
            "allow" => config.allow = rules(value)?,
            _ => return Err(unknown(key, name)),
        }
    }
    for (key, path) in [("socket", &config.socket), ("journal", &config.journal)] {
        if !path.is_absolute() {
            let at = document.get(key).map_or(0, |value| value.span().start);
            return Err(Wrong {
                at,
                key: key.to_owned(),
                what: format!("\"{}\" is not an absolute path", path.display()),
            });
        }
    }
    Ok(config)
}

/// `[lever.cpufreq-min-max]` and the like.
fn levers(value: &Value) -> Result<Vec<(LeverKind, Asked)>, Wrong> {
    let mut levers = Vec::new();
    for (name, table_of) in table("lever", value)? {
        let key = format!("lever.{}", name.get_ref());
        let lever = lever_named(&key, name.get_ref(), name.span().start)?;
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

fn rules(value: &Value) -> Result<Vec<Rule>, Wrong> {
    let rules = array("allow", value)?.iter().enumerate();
    rules
        .map(|(index, value)| rule(&format!("allow[{index}]"), value))
        .collect()
}

fn rule(prefix: &str, whole: &Value) -> Result<Rule, Wrong> {
    let mut rule = Rule::default();
    for (name, value) in table(prefix, whole)? {
        let key = &format!("{prefix}.{}", name.get_ref());
        match name.get_ref().as_ref() {
            "users" => rule.users = each(key, value, user)?,
            "groups" => rule.groups = each(key, value, group)?,
            "levers" => rule.levers = each(key, value, lever)?,
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

fn wrong(key: &str, value: &Value, what: impl Into<String>) -> Wrong {
    Wrong {
        at: value.span().start,
        key: key.to_owned(),
        what: what.into(),
    }
}

fn unknown(key: &str, name: &Spanned<std::borrow::Cow<str>>) -> Wrong {
    Wrong {
        at: name.span().start,
        key: key.to_owned(),
        what: "is not a key of this configuration".to_owned(),
    }
}

fn in_order(key: &str, value: &Value, lower: Option<u32>, upper: Option<u32>) -> Result<(), Wrong> {
    match (lower, upper) {
        (Some(lower), Some(upper)) if lower > upper => Err(wrong(
            key,
            value,
            format!("{lower} is above {upper}, so that nothing is between"),
        )),
        _ => Ok(()),
    }
}

fn table<'a, 'b>(key: &str, value: &'a Value<'b>) -> Result<&'a DeTable<'b>, Wrong> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => Err(wrong(key, value, "is not a table")),
    }
}

fn array<'a, 'b>(key: &str, value: &'a Value<'b>) -> Result<&'a [Value<'b>], Wrong> {
    match value.get_ref() {
        DeValue::Array(array) => Ok(array),
        _ => Err(wrong(key, value, "is not a list")),
    }
}

fn each<T>(
    key: &str,
    value: &Value,
    one: impl Fn(&str, &Value) -> Result<T, Wrong>,
) -> Result<Vec<T>, Wrong> {
    let values = array(key, value)?;
    values.iter().map(|value| one(key, value)).collect()
}

fn text(key: &str, value: &Value) -> Result<String, Wrong> {
    match value.get_ref() {
        DeValue::String(text) if !text.is_empty() => Ok(text.to_string()),
        _ => Err(wrong(key, value, "is not a text")),
    }
}

fn number(key: &str, value: &Value, least: u32, most: u32) -> Result<u32, Wrong> {
    let found = match value.get_ref() {
        DeValue::Integer(digits) => i128::from_str_radix(digits.as_str(), digits.radix()).ok(),
        _ => None,
    };
    match found {
        Some(found) if (least.into()..=most.into()).contains(&found) => Ok(found as u32),
        Some(found) => {
            let what = format!("{found} is not between {least} and {most}");
            Err(wrong(key, value, what))
        }
        None => Err(wrong(key, value, "is not a whole number")),
    }
}

fn octal(key: &str, value: &Value) -> Result<u32, Wrong> {
    let mode = u32::from_str_radix(&text(key, value)?, 8);
    match mode {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err(wrong(key, value, "is not a file mode such as \"0660\"")),
    }
}

fn user(key: &str, value: &Value) -> Result<u32, Wrong> {
    let DeValue::String(name) = value.get_ref() else {
        return number(key, value, 0, u32::MAX - 1);
    };
    match User::from_name(name) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        _ => Err(wrong(key, value, format!("there is no user \"{name}\""))),
    }
}

fn group(key: &str, value: &Value) -> Result<u32, Wrong> {
    let DeValue::String(name) = value.get_ref() else {
        return number(key, value, 0, u32::MAX - 1);
    };
    match Group::from_name(name) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        _ => Err(wrong(key, value, format!("there is no group \"{name}\""))),
    }
}

fn lever(key: &str, value: &Value) -> Result<LeverKind, Wrong> {
    lever_named(key, &text(key, value)?, value.span().start)
}

fn lever_named(key: &str, name: &str, at: usize) -> Result<LeverKind, Wrong> {
    let found = LeverKind::named(name);
    found.ok_or_else(|| Wrong {
        at,
        key: key.to_owned(),
        what: format!(
            "\"{name}\" is not a lever ({})",
            LeverKind::ALL.map(LeverKind::word).join(", ")
        ),
    })
}

/// `"/kubepods.slice"`: an absolute path in its hierarchy.
fn cgroup(key: &str, value: &Value) -> Result<String, Wrong> {
    let path = text(key, value)?;
    let is_plain = path.split('/').all(|part| part != "." && part != "..");
    if !path.starts_with('/') || !is_plain {
        let what = format!("\"{path}\" is not a path of a control group such as /web");
        return Err(wrong(key, value, what));
    }
    Ok(path.trim_matches('/').to_owned())
}

/// `"0-3,8"`.
fn cpus(key: &str, value: &Value) -> Result<Vec<u32>, Wrong> {
    let list = text(key, value)?;
    let refuse = || {
        wrong(
            key,
            value,
            format!("\"{list}\" is not a list such as 0-3,8"),
        )
    };
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let parse = |text: &str| text.trim().parse::<u32>().ok();
        match (parse(first), parse(last)) {
            (Some(first), Some(last)) if first <= last && last < CPUS_MAX => {
                cpus.extend(first..=last);
            }
            _ => return Err(refuse()),
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}
