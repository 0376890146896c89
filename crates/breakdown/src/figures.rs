//! Figures inside sentences: durations, shares and counts as people read them.

/// A duration: three digits and a unit.
pub(crate) fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.digits$} {unit}")
}

/// A share of one.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `11,874`.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `once`, `1,204 times`.
pub(crate) fn times(occurrences: u64) -> String {
    match occurrences {
        1 => "once".into(),
        many => format!("{} times", count(many)),
    }
}

/// How often, and the most of it in the way of one request: `9 times, for up to 24.0 ms of one
/// request's wait`.
pub(crate) fn stretches(occurrences: u64, longest_ns: u64) -> String {
    format!(
        "{}, for up to {} of one request's wait",
        times(occurrences),
        time(longest_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let told = [999, 1_500, 48_200_000, 214_000_000, 2_000_000_000].map(time);
        assert_eq!(told, ["999 ns", "1.50 µs", "48.2 ms", "214 ms", "2.00 s"]);
    }

    #[test]
    fn counts_have_thousands_separators() {
        let told = [0, 12, 999, 1_000, 11_874, 1_000_000].map(count);
        assert_eq!(told, ["0", "12", "999", "1,000", "11,874", "1,000,000"]);
    }

    #[test]
    fn one_time_is_once() {
        assert_eq!(
            stretches(1, 62_000_000),
            "once, for up to 62.0 ms of one request's wait"
        );
        assert_eq!(
            stretches(1_204, 1_500),
            "1,204 times, for up to 1.50 µs of one request's wait"
        );
    }
}
