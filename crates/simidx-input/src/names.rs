//! Lists the names of fields in messages, the most similar to the wanted one first.

use super::id::breaks_line;

/// Number of names that are listed; the rest is only counted.
const LISTED: usize = 10;

/// Lists the existing names, the most similar to the wanted one first: "it has: a, b". Returns an empty text for none.
pub(super) fn list<S: AsRef<str>>(wanted: &str, names: &[S]) -> String {
    let mut sorted: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    sorted.sort_by(|a, b| similarity(wanted, b).total_cmp(&similarity(wanted, a)));
    let shown: Vec<String> = sorted.iter().take(LISTED).map(|name| plain(name)).collect();
    match (shown.is_empty(), sorted.len().saturating_sub(LISTED)) {
        (true, _) => String::new(),
        (_, 0) => format!("; it has: {}", shown.join(", ")),
        (_, more) => format!("; it has: {} and {more} more", shown.join(", ")),
    }
}

/// Returns the name without quotation marks, if it is clear without them.
fn plain(name: &str) -> String {
    let is_odd = |c: char| breaks_line(c) || c.is_whitespace() || "\",;".contains(c);
    match name.is_empty() || name.chars().any(is_odd) {
        true => format!("{name:?}"),
        false => name.to_owned(),
    }
}

/// Returns the similarity of two names, or of the last parts of their paths, from 0 to 1.
fn similarity(wanted: &str, name: &str) -> f64 {
    let last = |path: &str| {
        path.rsplit('.')
            .find(|part| *part != "*")
            .map(str::to_lowercase)
    };
    let of_parts = match (last(wanted), last(name)) {
        (Some(wanted), Some(name)) => strsim::normalized_damerau_levenshtein(&wanted, &name),
        _ => 0.0,
    };
    strsim::normalized_damerau_levenshtein(wanted, name).max(of_parts * 0.99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first() {
        let names = ["id", "url", "content"];
        assert_eq!(list("contents", &names), "; it has: content, id, url");
        assert_eq!(list("URL", &names), "; it has: url, id, content");
        assert_eq!(list::<&str>("x", &[]), "");
        let nested = ["meta.url", "messages.*.content", "id"];
        let listed = list("contnet", &nested);
        assert!(
            listed.starts_with("; it has: messages.*.content, "),
            "{listed}"
        );
    }

    #[test]
    fn odd_names_are_quoted_and_many_are_counted() {
        assert_eq!(list("x", &["a b"]), "; it has: \"a b\"");
        assert_eq!(list("x", &["a\u{1b}"]), "; it has: \"a\\u{1b}\"");
        let many: Vec<String> = (0..20).map(|i| format!("c{i}")).collect();
        assert!(list("c0", &many).ends_with(" and 10 more"));
    }
}
