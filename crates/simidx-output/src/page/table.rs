//! Tables with captions, which scroll by keyboard on narrow screens.

use maud::{Markup, Render, html};

/// Returns a table. The first cell of each row is its heading; the columns after the text columns hold numbers.
pub fn table<T: Render>(
    caption: &str,
    headings: &[&str],
    text_columns: usize,
    rows: &[Vec<T>],
) -> Markup {
    let is_number = |column: usize| column >= text_columns;
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for (column, heading) in headings.iter().enumerate() {
                            th.n[is_number(column)] scope="col" { (heading) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 {
                                    th scope="row" { (cell) }
                                } @else {
                                    td.n[is_number(column)] { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a table of names and values.
pub fn figures(caption: &str, rows: &[(&str, String)]) -> Markup {
    let rows: Vec<Vec<&str>> = rows
        .iter()
        .map(|(name, value)| vec![*name, value])
        .collect();
    table(caption, &["figure", "value"], 2, &rows)
}
