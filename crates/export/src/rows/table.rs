//! A table in pieces: columns of values, handed on as JSON when there are enough rows.
//!
//! By columns and not by rows, because that is what a writer of Parquet takes, and because a name
//! that stands once in a piece instead of in each row halves it.

use std::io;

use serde::Serialize;

/// Rows of one piece; a row group of the file.
pub(super) const ROWS: usize = 20_000;

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    Null,
    Flag(bool),
    /// Below 2^53, which JavaScript reads exactly.
    Number(u64),
    Text(String),
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Where pieces go: JSON of `{"table", "columns": {name: [value …]}}`.
pub(super) type Sink<'a> = dyn FnMut(String) -> io::Result<()> + 'a;

/// A table in the making.
#[derive(Debug)]
pub(super) struct Table {
    name: &'static str,
    columns: Vec<(&'static str, Vec<Value>)>,
    rows: usize,
}

impl Table {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            columns: Vec::new(),
            rows: 0,
        }
    }

    /// Adds a row, each of the same names in the same order.
    pub fn row(&mut self, row: Vec<(&'static str, Value)>) {
        if self.columns.is_empty() {
            self.columns = row.iter().map(|(name, _)| (*name, Vec::new())).collect();
        }
        for ((_, column), (_, value)) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        self.rows += 1;
    }

    pub fn is_full(&self) -> bool {
        self.rows >= ROWS
    }

    /// Hands on the rows that there are, if any.
    pub fn hand_on(&mut self, sink: &mut Sink<'_>) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let columns = std::mem::take(&mut self.columns);
        let mut json = format!("{{\"table\":\"{}\",\"columns\":{{", self.name);
        for (index, (name, values)) in columns.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            json.push_str(&format!("{comma}\"{name}\":"));
            json.push_str(&serde_json::to_string(values)?);
        }
        json.push_str("}}");
        sink(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_has_a_column_of_each_name() {
        let mut table = Table::new("t");
        table.row(vec![("a", 1u32.into()), ("b", Some("x\"").into())]);
        table.row(vec![("a", true.into()), ("b", None::<&str>.into())]);
        let mut pieces = Vec::new();
        for _ in 0..2 {
            table
                .hand_on(&mut |piece| {
                    pieces.push(piece);
                    Ok(())
                })
                .expect("the sink takes all");
        }
        let piece = r#"{"table":"t","columns":{"a":[1,true],"b":["x\"",null]}}"#;
        assert_eq!(pieces, [piece]);
    }
}
