//! Numbers and names in a form for people.

/// Formats a number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number with `digits` decimal places and with commas between thousands.
pub fn decimal(number: f64, digits: usize) -> String {
    let rounded = format!("{number:.digits$}");
    let (whole, rest) = rounded.split_at(rounded.find('.').unwrap_or(rounded.len()));
    match whole.parse() {
        Ok(whole) => grouped(whole) + rest,
        Err(_) => rounded,
    }
}

/// Formats a number in about four characters, for a label in a chart.
pub fn short(number: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    for (unit, name) in units {
        if number >= unit {
            let digits = usize::from(number < 10.0 * unit);
            let text = format!("{:.digits$}", number / unit);
            return text.strip_suffix(".0").unwrap_or(&text).to_owned() + name;
        }
    }
    match number.fract() == 0.0 {
        true => format!("{number}"),
        false => format!("{number:.1}"),
    }
}

/// Formats a count with its noun, such as `1 pair` and `2,000 pairs`.
pub fn plural(count: u64, name: &str) -> String {
    match (count, name.strip_suffix('y')) {
        (1, _) => format!("1 {name}"),
        (_, Some(stem)) => format!("{} {stem}ies", grouped(count)),
        (_, None) if name.ends_with("ch") => format!("{} {name}es", grouped(count)),
        (_, None) => format!("{} {name}s", grouped(count)),
    }
}

/// Formats the size of a sample, such as `20 of 1,203,441 pairs`, or `all 5 pairs` if the sample is complete.
pub fn sampled(shown: u64, all: u64, name: &str) -> String {
    match shown == all {
        true if all == 1 => format!("the only {name}"),
        true => format!("all {}", plural(all, name)),
        false => format!("{} of {}", grouped(shown), plural(all, name)),
    }
}

/// Shortens a text to `count` characters, with an ellipsis if it was longer.
pub fn cut(text: &str, count: usize) -> String {
    match text.char_indices().nth(count) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_legible() {
        let texts = [0, 7, 999, 1000, 1_203_441].map(grouped);
        assert_eq!(texts, ["0", "7", "999", "1,000", "1,203,441"]);
        assert_eq!(decimal(1234.567, 2), "1,234.57");
        assert_eq!(decimal(0.5, 1), "0.5");
        let texts = [0.0, 12.0, 999.0, 1000.0, 1250.0, 54_321.0, 2.5e6].map(short);
        assert_eq!(texts, ["0", "12", "999", "1k", "1.2k", "54k", "2.5M"]);
        assert_eq!(sampled(20, 1_203_441, "pair"), "20 of 1,203,441 pairs");
        assert_eq!(sampled(1, 1, "query"), "the only query");
        assert_eq!(sampled(3, 3, "query"), "all 3 queries");
    }
}
