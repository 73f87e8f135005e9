//! Tables with captions, which a keyboard can scroll where a screen is narrow.

use super::html::Html;

/// A column: its heading, and whether it holds numbers.
#[derive(Debug, Clone, Copy)]
pub struct Column(pub &'static str, pub bool);

impl Column {
    /// A column of texts.
    pub fn text(heading: &'static str) -> Self {
        Column(heading, false)
    }

    /// A column of numbers.
    pub fn number(heading: &'static str) -> Self {
        Column(heading, true)
    }
}

/// A table; the first cell of each row is its heading.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    html: Html,
}

impl Table {
    /// A table without rows.
    pub fn new(caption: &str, columns: &[Column]) -> Self {
        let mut html = Html::new();
        html.open(
            "div",
            &[
                ("class", "scroll"),
                ("tabindex", "0"),
                ("role", "region"),
                ("aria-label", caption),
            ],
        );
        html.markup("<table>").element("caption", &[], caption);
        html.markup("<thead><tr>");
        for Column(heading, is_number) in columns {
            html.open("th", &[("scope", "col"), ("class", class(*is_number))]);
            html.text(heading).close("th");
        }
        html.markup("</tr></thead><tbody>\n");
        Table {
            columns: columns.to_vec(),
            html,
        }
    }

    /// A table of names and values.
    pub fn of_figures<N: AsRef<str>>(caption: &str, rows: &[(N, String)]) -> Html {
        let mut table = Table::new(caption, &[Column::text("figure"), Column::text("value")]);
        for (name, value) in rows {
            table.row([name.as_ref(), value]);
        }
        table.finish()
    }

    /// Adds a row of texts.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.row_of(cells.into_iter().map(|cell| Html::of(cell.as_ref())));
    }

    /// Adds a row of pieces of HTML.
    pub fn row_of(&mut self, cells: impl IntoIterator<Item = Html>) {
        self.html.markup("<tr>");
        for (number, (cell, Column(_, is_number))) in
            cells.into_iter().zip(&self.columns).enumerate()
        {
            let class = ("class", class(*is_number));
            match number {
                0 => self
                    .html
                    .open("th", &[("scope", "row"), class])
                    .append(&cell)
                    .close("th"),
                _ => self.html.open("td", &[class]).append(&cell).close("td"),
            };
        }
        self.html.markup("</tr>\n");
    }

    /// The table as HTML.
    pub fn finish(mut self) -> Html {
        self.html.markup("</tbody></table></div>\n");
        self.html
    }
}

fn class(is_number: bool) -> &'static str {
    match is_number {
        true => "n",
        false => "t",
    }
}
