//! Records beside each other: pairs of near-duplicates, and the members of clusters.

use super::diff::{head, one_pane, panes};
use super::html::Html;
use super::table::{Column, Table};

/// Characters of an id that are shown.
const ID_LEN: usize = 160;

/// A record, or several with one fingerprint.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The ids that are shown.
    pub ids: Vec<String>,
    /// Whether there are more.
    pub has_more_ids: bool,
    /// Its hexadecimal digits.
    pub fingerprint: String,
    /// What else is to be said, such as a distance.
    pub note: String,
    /// The text of the record, if it is known.
    pub text: Option<String>,
}

impl Entry {
    /// Ids, fingerprint and note; digits that differ from those of another fingerprint are marked.
    fn name(&self, other: Option<&Entry>) -> Html {
        let mut name = self.shown_ids();
        if !name.is_empty() && !self.fingerprint.is_empty() {
            name.markup(" ");
        }
        name.append(&self.digits(other));
        if !self.note.is_empty() {
            name.element("span", &[("class", "about")], format!(" {}", self.note));
        }
        name
    }

    fn shown_ids(&self) -> Html {
        let mut ids = Html::new();
        for (number, id) in self.ids.iter().enumerate() {
            if number > 0 {
                ids.markup(", ");
            }
            let short = head(id, ID_LEN);
            ids.markup("<bdi class=\"id\">").text(short);
            ids.markup(if short.len() < id.len() {
                "\u{2026}</bdi>"
            } else {
                "</bdi>"
            });
        }
        if self.has_more_ids {
            ids.markup(" and more");
        }
        ids
    }

    fn digits(&self, other: Option<&Entry>) -> Html {
        let mut html = Html::new();
        if self.fingerprint.is_empty() {
            return html;
        }
        let other = other.map_or("", |other| &other.fingerprint);
        html.markup("<code>");
        let mut others = other.chars();
        for digit in self.fingerprint.chars() {
            match others.next() {
                Some(other) if other != digit => html.element("mark", &[], digit),
                _ => html.text(digit),
            };
        }
        html.markup("</code>");
        html
    }
}

/// Two records, and why they stand here.
pub fn pair(heading: &str, first: &Entry, second: &Entry) -> Html {
    let mut html = Html::new();
    html.markup("<article>").element("h4", &[], heading);
    html.append(&beside(first, second)).markup("</article>\n");
    html
}

/// A cluster: the member that stands for it, and others of its members.
pub fn cluster(heading: &str, is_open: bool, first: &Entry, others: &[Entry]) -> Html {
    let mut html = Html::new();
    html.markup(if is_open {
        "<details open=\"\">"
    } else {
        "<details>"
    });
    html.element("summary", &[], heading);
    if first.text.is_some() || others.iter().any(|other| other.text.is_some()) {
        if others.is_empty() {
            html.append(&one_pane(
                &first.name(None),
                first.text.as_deref().unwrap_or_default(),
            ));
        }
        for other in others {
            html.append(&beside(first, other));
        }
    } else {
        html.append(&members("Members that are shown", first, others));
    }
    html.markup("</details>\n");
    html
}

/// Two records with their texts, or what is known of them without.
fn beside(first: &Entry, second: &Entry) -> Html {
    let names = [first.name(Some(second)), second.name(Some(first))];
    match (&first.text, &second.text) {
        (Some(a), Some(b)) => panes((&names[0], a), (&names[1], b)),
        _ => {
            let mut html = Html::new();
            html.markup("<div class=\"panes\">");
            for (name, entry) in names.iter().zip([first, second]) {
                html.markup("<div class=\"pane\"><div class=\"name\">")
                    .append(name)
                    .markup("</div>");
                if let Some(text) = &entry.text {
                    html.append(&one_pane(&Html::new(), text));
                }
                html.markup("</div>");
            }
            html.markup("</div>\n");
            html
        }
    }
}

/// The members as a table.
fn members(caption: &str, first: &Entry, others: &[Entry]) -> Html {
    let columns = [
        Column::text("fingerprint"),
        Column::text("ids"),
        Column::text("place"),
    ];
    let has_ids = !first.ids.is_empty();
    let columns: Vec<Column> = columns
        .into_iter()
        .filter(|column| has_ids || column.0 != "ids")
        .collect();
    let mut table = Table::new(caption, &columns);
    for entry in std::iter::once(first).chain(others) {
        let mut cells = vec![entry.digits(Some(first))];
        if has_ids {
            cells.push(entry.shown_ids());
        }
        cells.push(Html::of(&entry.note));
        table.row_of(cells);
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, fingerprint: &str) -> Entry {
        Entry {
            ids: vec![id.to_owned()],
            fingerprint: fingerprint.to_owned(),
            ..Entry::default()
        }
    }

    #[test]
    fn digits_that_differ_are_marked_and_ids_cut() {
        let long = "x".repeat(1000);
        let html = pair("p", &entry("<i>", "00ff"), &entry(&long, "01ff"));
        let html = html.as_str();
        assert!(
            html.contains("<bdi class=\"id\">&lt;i&gt;</bdi> <code>0<mark>0</mark>ff</code>"),
            "{html}"
        );
        assert!(html.contains("<code>0<mark>1</mark>ff</code>"), "{html}");
        assert!(html.len() < 700, "{}", html.len());
    }

    #[test]
    fn clusters_without_texts_are_tables() {
        let html = cluster("c", true, &entry("a", "00"), &[entry("b", "01")]);
        assert_eq!(html.as_str().matches("<tr>").count(), 3);
    }
}
