//! The rooms of the library: each uses only what its row in the table of book/ARCHITECTURE.md says.

use std::collections::BTreeSet;
use std::path::Path;

use simidx_testkit::document::root;

use crate::modules::Modules;

/// A row of the table.
struct Row<'t> {
    /// The line of the document.
    text: &'t str,
    /// The modules of the library that it describes.
    rooms: Vec<&'t str>,
    /// The paths that these may use, without `crate`. Those of the rooms before one in its own row come on top.
    uses: Vec<&'t str>,
}

impl Row<'_> {
    fn permits(&self, room: &str, path: &str) -> bool {
        let before = self.rooms.iter().take_while(|&&other| other != room);
        let mut permitted = before.chain(&self.uses).chain([&room]);
        permitted.any(|&start| {
            let rest = path.strip_prefix(start);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        })
    }
}

/// The rows of the table under the heading of the third column, `uses`.
fn rows(document: &str) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let lines = document.lines().skip_while(|line| !is_heading(line));
    for text in lines.skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = text.trim_matches('|').split('|').map(str::trim).collect();
        let [rooms, _, uses] = cells[..] else {
            panic!("{text}: it has three cells")
        };
        let uses = uses_of(uses, &rows).unwrap_or_else(|part| panic!("{text}: {part}"));
        let rooms = code_spans(rooms);
        rows.push(Row { text, rooms, uses });
    }
    rows
}

fn is_heading(line: &str) -> bool {
    line.starts_with("| room |") && line.ends_with("| uses |")
}

/// The paths that a cell permits: `nothing`, `leaves`, `all above`, `all above except` some, and paths in code marks.
fn uses_of<'t>(cell: &'t str, above: &[Row<'t>]) -> Result<Vec<&'t str>, String> {
    let all_above = || above.iter().flat_map(|row| row.rooms.iter().copied());
    let mut uses = Vec::new();
    for part in cell.split(", ") {
        match part.strip_prefix("all above except ") {
            Some(others) => {
                let others = code_spans(others);
                uses.extend(all_above().filter(|room| !others.contains(room)));
            }
            None if part == "nothing" => {}
            None if part == "leaves" => {
                uses.extend(above.first().iter().flat_map(|row| &row.rooms))
            }
            None if part == "all above" => uses.extend(all_above()),
            None if part.starts_with('`') && part.ends_with('`') => uses.extend(code_spans(part)),
            None => return Err(format!("{part:?} is not a permission")),
        }
    }
    Ok(uses)
}

/// Returns everything in code marks, without the endings of files.
fn code_spans(text: &str) -> Vec<&str> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.map(|span| span.trim_end_matches(".rs")).collect()
}

/// Each path that a room uses although its row does not permit it, as a sentence.
fn forbidden(modules: &Modules, rows: &[Row<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for named in &modules.named {
        let Some(room) = named.module.first() else {
            continue;
        };
        let Some(path) = modules.whole_path(named) else {
            continue;
        };
        let path = path.join("::");
        let row = rows.iter().find(|row| row.rooms.contains(&room.as_str()));
        if row.is_some_and(|row| row.permits(room, &path)) {
            continue;
        }
        let (file, line) = (named.file.display(), named.line);
        let row = row.map_or("it has no row in the table", |row| row.text);
        found.push(format!("{file}:{line}: `{room}` uses `{path}`, but: {row}"));
    }
    found
}

#[test]
fn rooms_use_what_their_rows_permit() {
    let document = std::fs::read_to_string(root().join("book/ARCHITECTURE.md")).unwrap();
    let rows = rows(&document);
    let modules = Modules::of_crate(Path::new("src/lib.rs"));
    let rooms: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.rooms.iter().copied())
        .collect();
    assert_eq!(
        rooms,
        modules.of_root(),
        "rooms of the table, modules of the library"
    );

    let found = forbidden(&modules, &rows);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn an_arrow_upwards_is_found_and_the_table_decides() {
    let table = |uses: &str| {
        format!(
            "| room | what it does | uses |\n|---|---|---|\n\
            | `error.rs`, `memory.rs` | leaves | nothing |\n\
            | `codec` | bits | {uses} |\n\
            | `index` | reads | all above |\n\nThe end."
        )
    };
    let source = "\n\nfn search() { crate::index::open(); }\nuse crate::{memory, error::Error};\nuse super::Table;";
    let found = |room: &str, uses: &str| {
        let mut modules = Modules::of_source(&[], "pub use index::Table;");
        for other in ["error", "memory", "codec", "index"] {
            let source = if other == room { source } else { "" };
            let file = format!("src/{other}.rs").into();
            modules.add_source(&file, vec![other.to_owned()], source);
        }
        let table = table(uses);
        forbidden(&modules, &rows(&table))
    };
    assert_eq!(
        found("codec", "leaves"),
        [
            "src/codec.rs:3: `codec` uses `index::open`, but: | `codec` | bits | leaves |",
            "src/codec.rs:5: `codec` uses `index::Table`, but: | `codec` | bits | leaves |",
        ]
    );
    assert_eq!(found("codec", "leaves, `index`"), [""; 0]);
    assert_eq!(found("codec", "all above, `index::Table`").len(), 1);
    assert_eq!(found("codec", "all above except `error.rs`").len(), 3);
    assert_eq!(found("codec", "nothing").len(), 4);
    assert_eq!(found("index", "nothing"), [""; 0]);
    // In a row only those before.
    assert_eq!(found("memory", "nothing").len(), 2);
    assert_eq!(found("error", "nothing").len(), 3);
}
