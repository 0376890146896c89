//! One line of a drawn trace, taken apart.
//!
//! Errors are panics that show the line: a drawn trace is part of a test, and a test with a typing
//! error should fail at that line.

use bobtail_trace::record::Ns;

use crate::draw::ORIGIN_NS;

/// The words of a line, in order, and its fields by name.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    text: &'a str,
    pub time_ns: Option<Ns>,
    words: std::vec::IntoIter<&'a str>,
    quoted: std::vec::IntoIter<&'a str>,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> Line<'a> {
    /// `None` for a line that is empty but for a comment.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (mut words, mut quoted, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = text.trim_start();
        while !rest.is_empty() && !rest.starts_with("//") {
            if let Some(inside) = rest.strip_prefix('"') {
                let end = inside
                    .find('"')
                    .unwrap_or_else(|| panic!("no closing quote: {text}"));
                quoted.push(&inside[..end]);
                rest = inside[end + 1..].trim_start();
                continue;
            }
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            match rest[..end].split_once('=') {
                Some(field) => fields.push(field),
                None => words.push(&rest[..end]),
            }
            rest = rest[end..].trim_start();
        }
        let time_ns = words.first().and_then(|w| duration_ns(w)).map(|ns| {
            words.remove(0);
            at(ns)
        });
        let any = time_ns.is_some() || !words.is_empty();
        let (words, quoted) = (words.into_iter(), quoted.into_iter());
        any.then_some(Self {
            text,
            time_ns,
            words,
            quoted,
            fields,
        })
    }

    pub(crate) fn word(&mut self) -> &'a str {
        self.words
            .next()
            .unwrap_or_else(|| panic!("a word is missing: {}", self.text))
    }

    pub(crate) fn number(&mut self) -> u32 {
        let word = self.word();
        word.parse()
            .unwrap_or_else(|_| panic!("{word} is not a number: {}", self.text))
    }

    /// A word by its meaning.
    pub(crate) fn known<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> T {
        let word = self.word();
        meaning(word).unwrap_or_else(|| panic!("{word} means nothing here: {}", self.text))
    }

    /// Takes `#n` if it comes next.
    pub(crate) fn label(&mut self) -> Option<u32> {
        let label = self.words.as_slice().first()?.strip_prefix('#')?;
        self.words.next();
        Some(
            label
                .parse()
                .unwrap_or_else(|_| panic!("#{label} is no event: {}", self.text)),
        )
    }

    pub(crate) fn string(&mut self) -> Option<&'a str> {
        self.quoted.next()
    }

    fn field(&mut self, name: &str) -> Option<&'a str> {
        let index = self.fields.iter().position(|(n, _)| *n == name)?;
        Some(self.fields.remove(index).1)
    }

    pub(crate) fn field_number(&mut self, name: &str) -> Option<u32> {
        let value = self.field(name)?;
        let parsed = value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value}? {}", self.text));
        Some(parsed)
    }

    pub(crate) fn field_known<T>(
        &mut self,
        name: &str,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let value = self.field(name)?;
        Some(meaning(value).unwrap_or_else(|| panic!("{name}={value}? {}", self.text)))
    }

    pub(crate) fn field_duration(&mut self, name: &str) -> Option<u64> {
        self.field_known(name, |v| u64::try_from(duration_ns(v)?).ok())
    }

    pub(crate) fn field_time(&mut self, name: &str) -> Option<Ns> {
        self.field_known(name, duration_ns).map(at)
    }

    /// Everything must have been understood.
    pub(crate) fn finish(mut self) {
        let left = self
            .words
            .next()
            .or(self.quoted.next())
            .or(self.fields.first().map(|f| f.0));
        if let Some(left) = left {
            panic!("{left} was not expected: {}", self.text);
        }
    }
}

fn at(ns: i64) -> Ns {
    ORIGIN_NS
        .checked_add_signed(ns)
        .expect("a drawn time is near the origin")
}

/// `1.5ms` in nanoseconds; `None` for what is not a number with a unit.
fn duration_ns(word: &str) -> Option<i64> {
    let digits = word.find(|c: char| c.is_ascii_alphabetic())?;
    let unit = match &word[digits..] {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let number: f64 = word[..digits].parse().ok()?;
    Some((number * unit).round() as i64)
}
