//! Single values of a configuration, each with what is wrong with it.
//!
//! Apart from the keys, so that a key and its bounds can be read on one line.

use bobtail_control::LeverKind;
use nix::unistd::{Group, User};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// No kernel has more CPUs.
const CPUS_MAX: u32 = 65_536;
/// A wrong value: where in the text, under which key, and what.
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) key: String,
    pub(super) what: String,
}

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

pub(super) fn wrong(key: &str, value: &Value, what: impl Into<String>) -> Wrong {
    Wrong {
        at: value.span().start,
        key: key.to_owned(),
        what: what.into(),
    }
}

pub(super) fn unknown(key: &str, name: &Spanned<std::borrow::Cow<str>>) -> Wrong {
    Wrong {
        at: name.span().start,
        key: key.to_owned(),
        what: "is not a key of this configuration".to_owned(),
    }
}

pub(super) fn in_order(
    key: &str,
    value: &Value,
    lower: Option<u32>,
    upper: Option<u32>,
) -> Result<(), Wrong> {
    match (lower, upper) {
        (Some(lower), Some(upper)) if lower > upper => Err(wrong(
            key,
            value,
            format!("{lower} is above {upper}, so that nothing is between"),
        )),
        _ => Ok(()),
    }
}

pub(super) fn table<'a, 'b>(key: &str, value: &'a Value<'b>) -> Result<&'a DeTable<'b>, Wrong> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => Err(wrong(key, value, "is not a table")),
    }
}

pub(super) fn array<'a, 'b>(key: &str, value: &'a Value<'b>) -> Result<&'a [Value<'b>], Wrong> {
    match value.get_ref() {
        DeValue::Array(array) => Ok(array),
        _ => Err(wrong(key, value, "is not a list")),
    }
}

pub(super) fn each<T>(
    key: &str,
    value: &Value,
    one: impl Fn(&str, &Value) -> Result<T, Wrong>,
) -> Result<Vec<T>, Wrong> {
    let values = array(key, value)?;
    values.iter().map(|value| one(key, value)).collect()
}

pub(super) fn text(key: &str, value: &Value) -> Result<String, Wrong> {
    match value.get_ref() {
        DeValue::String(text) if !text.is_empty() => Ok(text.to_string()),
        _ => Err(wrong(key, value, "is not a text")),
    }
}

pub(super) fn number(key: &str, value: &Value, least: u32, most: u32) -> Result<u32, Wrong> {
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

pub(super) fn octal(key: &str, value: &Value) -> Result<u32, Wrong> {
    let mode = u32::from_str_radix(&text(key, value)?, 8);
    match mode {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err(wrong(key, value, "is not a file mode such as \"0660\"")),
    }
}

pub(super) fn user(key: &str, value: &Value) -> Result<u32, Wrong> {
    let DeValue::String(name) = value.get_ref() else {
        return number(key, value, 0, u32::MAX - 1);
    };
    match User::from_name(name) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        _ => Err(wrong(key, value, format!("there is no user \"{name}\""))),
    }
}

pub(super) fn group(key: &str, value: &Value) -> Result<u32, Wrong> {
    let DeValue::String(name) = value.get_ref() else {
        return number(key, value, 0, u32::MAX - 1);
    };
    match Group::from_name(name) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        _ => Err(wrong(key, value, format!("there is no group \"{name}\""))),
    }
}

pub(super) fn lever(key: &str, value: &Value) -> Result<LeverKind, Wrong> {
    lever_named(key, &text(key, value)?, value.span().start)
}

pub(super) fn lever_named(key: &str, name: &str, at: usize) -> Result<LeverKind, Wrong> {
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
pub(super) fn cgroup(key: &str, value: &Value) -> Result<String, Wrong> {
    let path = text(key, value)?;
    let is_plain = path.split('/').all(|part| part != "." && part != "..");
    if !path.starts_with('/') || !is_plain {
        let what = format!("\"{path}\" is not a path of a control group such as /web");
        return Err(wrong(key, value, what));
    }
    Ok(path.trim_matches('/').to_owned())
}

/// `"0-3,8"`.
pub(super) fn cpus(key: &str, value: &Value) -> Result<Vec<u32>, Wrong> {
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
