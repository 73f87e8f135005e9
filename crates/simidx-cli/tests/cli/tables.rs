//! Tables: `-o` of `pairs`, `clusters`, `join` and `contamination`, and `dedup --report`, in every format.

use serde_json::Value;

use crate::support::{Ran, Sandbox, hex};

/// Documents in two files, some without an id. Each text but the last is there twice.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.jsonl",
        "{\"id\":\"x\",\"text\":\"one two three four five six seven\"}\n\
         {\"text\":\"something else entirely different\"}\n\
         {\"id\":\"y\",\"text\":\"one two three four five six seven\"}\n",
    );
    sandbox.write(
        "b.jsonl",
        "{\"text\":\"Something else, entirely different\"}\n\
         {\"id\":\"z\",\"text\":\"One two three four five six seven eight\"}\n\
         {\"id\":\"w\",\"text\":\"on its own\"}\n",
    );
    sandbox.write("d.jsonl", "{\"id\":\"v\",\"text\":\"On its own\"}\n");
    sandbox.write("a.hex", hex(&[1, 3, 1 << 40]));
    sandbox.write("c.tsv", "1\t7\n3\t9\n");
    for build in [
        "a.jsonl -o x.simidx --sketch 256",
        "c.tsv --ids number -o n.simidx",
        "a.hex -o f.simidx --ids none",
    ] {
        let args: Vec<&str> = ["build"].into_iter().chain(build.split(' ')).collect();
        sandbox.run(&args).done();
    }
    sandbox
}

/// Runs a command that finds something.
#[track_caller]
fn found(sandbox: &Sandbox, args: &str) -> Ran {
    let args: Vec<&str> = args.split(' ').collect();
    let ran = sandbox.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

/// The cells of a table by its rows, the names of its columns first.
fn cells(sandbox: &Sandbox, name: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let text = || String::from_utf8(sandbox.read(name)).unwrap();
    let split = |by: char| -> Vec<Vec<String>> {
        let cells = |line: &str| line.split(by).map(str::to_owned).collect();
        text().lines().map(cells).collect()
    };
    match name.rsplit_once('.').unwrap().1 {
        "tsv" => split('\t'),
        "csv" => split(','),
        "jsonl" => {
            let cell = |value: &Value| match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            let row = |line: &str| {
                let object: Value = serde_json::from_str(line).unwrap();
                assert_eq!(object.as_object().unwrap().len(), columns.len(), "{line}");
                columns.iter().map(|&name| cell(&object[name])).collect()
            };
            let names = columns.iter().map(|&name| name.to_owned()).collect();
            [names].into_iter().chain(text().lines().map(row)).collect()
        }
        _ => parquet::cells(sandbox, name).1,
    }
}

mod parquet {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use crate::support::Sandbox;

    /// The types of the columns, and the cells by rows, the names of the columns first.
    pub(super) fn cells(sandbox: &Sandbox, name: &str) -> (Vec<String>, Vec<Vec<String>>) {
        let file = std::fs::File::open(sandbox.path(name)).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        let columns = schema.columns().iter();
        let types = columns.clone().map(|column| column.physical_type());
        let names = columns.clone().map(|column| column.name().to_owned());
        let cell = |field: &Field| match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Double(number) => format!("{number:?}"),
            number => number.to_string(),
        };
        let rows = reader.get_row_iter(None).unwrap();
        let rows = rows.map(|row| {
            let row = row.unwrap();
            row.get_column_iter()
                .map(|(_, field)| cell(field))
                .collect()
        });
        let types = types.map(|of| of.to_string()).collect();
        (types, [names.collect()].into_iter().chain(rows).collect())
    }
}

/// Commands, and the columns of their tables. A star marks numbers, and a hash real numbers.
const TABLES: [(&str, &str); 20] = [
    ("pairs f.simidx -o", "a_fingerprint b_fingerprint distance*"),
    ("pairs a.hex -o", "a_fingerprint b_fingerprint distance*"),
    ("pairs x.simidx --by id -o", "a_id b_id distance*"),
    ("pairs n.simidx --by id -o", "a_id* b_id* distance*"),
    (
        "pairs a.jsonl b.jsonl --by id -o",
        "a_id b_id distance* a_row* a_file b_row* b_file",
    ),
    (
        "pairs a.jsonl b.jsonl --by id --ids string -o",
        "a_id b_id distance* a_row* a_file b_row* b_file",
    ),
    (
        "pairs c.tsv --ids number --by id -o",
        "a_id* b_id* distance* a_row* a_file b_row* b_file",
    ),
    (
        "pairs a.jsonl b.jsonl --similarity 0.6 -o",
        "a_id b_id similarity# a_row* a_file b_row* b_file",
    ),
    ("clusters f.simidx -o", "cluster* fingerprint"),
    ("clusters x.simidx -o", "cluster* fingerprint id"),
    ("clusters n.simidx -o", "cluster* fingerprint id*"),
    (
        "clusters a.jsonl b.jsonl -k 3 -o",
        "cluster* fingerprint id row* file",
    ),
    (
        "clusters a.jsonl b.jsonl -k 3 --summary -o",
        "cluster* size* fingerprints* radius* fingerprint id row* file",
    ),
    (
        "clusters a.jsonl b.jsonl --similarity 0.6 -o",
        "cluster* id similarity# row* file",
    ),
    (
        "clusters a.jsonl b.jsonl --similarity 0.6 --summary -o",
        "cluster* size* id row* file",
    ),
    (
        "join x.simidx b.jsonl -k 3 -o",
        "query_fingerprint fingerprint distance* id query_id query_row*",
    ),
    (
        "join x.simidx b.jsonl --limit 1 -k 64 -o",
        "query_fingerprint fingerprint distance* id query_id query_row*",
    ),
    (
        "join n.simidx a.hex -o",
        "query_fingerprint fingerprint distance* id* query_id query_row*",
    ),
    (
        "join x.simidx b.jsonl --similarity 0.6 -o",
        "query_id id estimate# query_row*",
    ),
    (
        "contamination d.jsonl b.jsonl -q -o",
        "item document containment# similarity# begin* end*",
    ),
];

/// The same for reports of `dedup`.
const REPORTS: [(&str, &str); 4] = [
    (
        "dedup a.jsonl b.jsonl --dry-run --similarity 0.6 --report",
        "dropped kept distance* found_in cluster* similarity#",
    ),
    (
        "dedup a.hex --dry-run --report",
        "dropped* kept* distance* found_in cluster*",
    ),
    (
        "dedup b.jsonl d.jsonl --dry-run -k 3 --against x.simidx --report",
        "dropped kept distance* found_in cluster* similarity# index_fingerprint index_id",
    ),
    (
        "dedup b.jsonl d.jsonl --dry-run --similarity 0.6 --against x.simidx --report",
        "dropped kept distance* found_in cluster* similarity# index_fingerprint index_id estimate# standard_error#",
    ),
];

/// The last columns of a report, but not in TSV.
const PLACES: &str = " dropped_row* dropped_file kept_row* kept_file";

/// Writes a table in every format, checks that all hold the same, and returns its rows.
fn rows(sandbox: &Sandbox, args: &str, columns: &str, has_tsv_header: bool) -> Vec<Vec<String>> {
    // Real numbers are short in some.
    let short = |rows: Vec<Vec<String>>| -> Vec<Vec<String>> {
        let cell = |(cell, column): (&String, &str)| match cell.parse::<f64>() {
            Ok(number) if column.ends_with('#') => format!("{number:.4}"),
            _ => cell.clone(),
        };
        let row = |row: &Vec<String>| row.iter().zip(columns.split(' ')).map(cell).collect();
        rows.iter().map(row).collect()
    };
    let mut first: Option<Vec<Vec<String>>> = None;
    for ending in ["tsv", "csv", "jsonl", "parquet"] {
        if ending == "parquet" && !cfg!(feature = "parquet") {
            continue;
        }
        let name = format!("t.{ending}");
        let places = if has_tsv_header || ending == "tsv" {
            ""
        } else {
            PLACES
        };
        let all_columns = format!("{columns}{places}");
        let names = all_columns.split(' ');
        let names: Vec<&str> = names
            .map(|name| name.trim_end_matches(['*', '#']))
            .collect();
        let ran = found(sandbox, &format!("{args} {name} --force"));
        assert_eq!(ran.text(), "", "{args}");
        let mut rows = cells(sandbox, &name, &names);
        match ending == "tsv" && !has_tsv_header {
            true => {}
            false => assert_eq!(rows.remove(0), names, "{args} {name}"),
        }
        let all = rows.iter().all(|row| row.len() == names.len());
        assert!(all && !rows.is_empty(), "{args} {name}: {rows:?}");
        let rows = short(rows);
        assert_eq!(first.get_or_insert(rows.clone()), &rows, "{args} {name}");
        if ending == "parquet" {
            let kind = |column: &str| match column.as_bytes().last() {
                Some(b'*') => "INT64",
                Some(b'#') => "DOUBLE",
                _ => "BYTE_ARRAY",
            };
            let kinds: Vec<&str> = all_columns.split(' ').map(kind).collect();
            assert_eq!(parquet::cells(sandbox, &name).0, kinds, "{args}");
        }
    }
    first.unwrap()
}

#[test]
fn every_format_has_the_same_named_columns() {
    let sandbox = sandbox();
    for (args, columns) in TABLES {
        let rows = rows(&sandbox, args, columns, true);
        // The lines of standard output begin with the same cells where all of these have an id.
        if args.contains(".simidx -o") || args.contains(".simidx --by") {
            let ran = found(&sandbox, args.strip_suffix(" -o").unwrap());
            let lines: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
            assert_eq!(lines, ran.lines(), "{args}");
        }
    }
}

#[test]
fn a_report_has_the_same_columns_in_every_row() {
    let sandbox = sandbox();
    for (args, columns) in REPORTS {
        let rows = rows(&sandbox, args, columns, false);
        let of = |place: &str| rows.iter().filter(|row| row[3] == place).count();
        let from_index = if columns.contains("index") { 2 } else { 0 };
        assert!(of("input") > 0 && of("index") <= from_index, "{rows:?}");
        assert_eq!(of("index") > 0, from_index > 0, "{rows:?}");
        for row in &rows {
            // A cell of one kind is never in the column of the other.
            assert_eq!(row[1].is_empty(), row[3] == "index", "{row:?}");
            let of_index = row.get(6..8).unwrap_or_default();
            assert!(
                of_index
                    .iter()
                    .all(|cell| cell.is_empty() == (row[3] == "input"))
            );
        }
    }
}

#[test]
fn records_are_found_again_by_file_and_row() {
    let sandbox = sandbox();
    found(
        &sandbox,
        "dedup a.jsonl b.jsonl --dry-run --similarity 0.7 --report t.csv --force",
    );
    let report = String::from_utf8(sandbox.read("t.csv")).unwrap();
    let places = report
        .lines()
        .map(|line| line.rsplitn(5, ',').collect::<Vec<_>>());
    let places: Vec<String> = places.map(|cells| cells[..4].join(" ")).collect();
    assert_eq!(
        places,
        [
            "kept_file kept_row dropped_file dropped_row",
            "a.jsonl 0 a.jsonl 2",
            "a.jsonl 1 b.jsonl 0",
            "a.jsonl 0 b.jsonl 1",
        ]
    );
    let rows = |args: &str| {
        found(&sandbox, &format!("{args} -o t.tsv --force"));
        String::from_utf8(sandbox.read("t.tsv")).unwrap()
    };
    let (head, places) = ("a_id\tb_id\t", "\ta_row\ta_file\tb_row\tb_file\n");
    assert_eq!(
        rows("pairs a.jsonl b.jsonl --similarity 0.7"),
        format!(
            "{head}similarity{places}x\ty\t1.0\t0\ta.jsonl\t2\ta.jsonl\n\
             \t\t1.0\t1\ta.jsonl\t0\tb.jsonl\n\
             x\tz\t0.8333333333333334\t0\ta.jsonl\t1\tb.jsonl\n\
             y\tz\t0.8333333333333334\t2\ta.jsonl\t1\tb.jsonl\n"
        )
    );
    assert_eq!(
        rows("pairs a.jsonl b.jsonl --by id -k 0 --sort"),
        format!(
            "{head}distance{places}x\ty\t0\t0\ta.jsonl\t2\ta.jsonl\n\t\t0\t1\ta.jsonl\t0\tb.jsonl\n"
        )
    );
    let table = rows("clusters a.jsonl b.jsonl -k 0");
    let lines = table.lines().map(|line| line.splitn(3, '\t').nth(2));
    let mut places: Vec<&str> = lines.map(Option::unwrap).collect();
    // Which cluster comes first is for the fingerprints to say.
    places.sort_unstable();
    let expected = [
        "\t0\tb.jsonl",
        "\t1\ta.jsonl",
        "id\trow\tfile",
        "x\t0\ta.jsonl",
        "y\t2\ta.jsonl",
    ];
    assert_eq!(places, expected);
    // Records that are skipped count, and inputs without records do not.
    sandbox.write("none.hex", "");
    sandbox.write("bad.hex", "1\t7\nnothing\n3\t8\n");
    let table = rows(
        "pairs none.hex a.hex bad.hex --input hex --by id --ids number --on-error skip -k 0 --sort",
    );
    let lines: Vec<&str> = table.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "\t7\t0\t0\ta.hex\t0\tbad.hex",
            "\t8\t0\t1\ta.hex\t2\tbad.hex"
        ]
    );
}

#[test]
fn ids_of_any_characters_come_back() {
    let sandbox = Sandbox::new();
    let id = "t\tab, \"q\" \\ \u{202e}";
    for line in ["a", "b"] {
        let object =
            serde_json::json!({ "id": format!("{line}{id}"), "text": "one two three four" });
        sandbox.write(&format!("{line}.jsonl"), object.to_string() + "\n");
    }
    let run = |name: &str| {
        found(
            &sandbox,
            &format!("pairs a.jsonl b.jsonl --similarity 1 -o {name}"),
        );
        String::from_utf8(sandbox.read(name)).unwrap_or_default()
    };
    let tsv = run("t.tsv");
    assert!(tsv.contains("\nat\\tab, \"q\" \\\\ \\u202e\tbt"), "{tsv}");
    let csv = run("t.csv");
    assert!(
        csv.contains(&format!("\n\"a{}\",\"b", id.replace('"', "\"\""))),
        "{csv}"
    );
    let object: Value = serde_json::from_str(&run("t.jsonl")).unwrap();
    assert_eq!(object["a_id"], format!("a{id}"));
    if cfg!(feature = "parquet") {
        run("t.parquet");
        assert_eq!(
            parquet::cells(&sandbox, "t.parquet").1[1][0],
            format!("a{id}")
        );
    }
}

#[test]
fn tables_are_files_like_others() {
    let sandbox = sandbox();
    let refused = |args: &str, message: &str| {
        let before = sandbox.names();
        let args: Vec<&str> = args.split(' ').collect();
        sandbox.run(&args).refused(message);
        assert_eq!(sandbox.names(), before);
    };
    let endings = match cfg!(feature = "parquet") {
        true => ".tsv, .csv, .jsonl, each also with .gz or .zst, or .parquet",
        false => ".tsv, .csv or .jsonl, each also with .gz or .zst",
    };
    sandbox.write("old.csv", "mine");
    for command in [
        "pairs f.simidx",
        "clusters x.simidx",
        "join x.simidx a.jsonl",
    ] {
        for name in ["t.txt", "t", "t.xlsx", "t.parquet.gz"] {
            let message = format!("{name}: a table ends in {endings}");
            refused(&format!("{command} -o {name}"), &message);
        }
        let message = "old.csv: already exists; use --force to replace it";
        refused(&format!("{command} -o old.csv"), message);
        found(&sandbox, &format!("{command} -o old.csv --force"));
        assert_ne!(sandbox.read("old.csv"), b"mine");
        sandbox.write("old.csv", "mine");
        // Standard output has what it has without it.
        let lines = found(&sandbox, command);
        assert_eq!(
            found(&sandbox, &format!("{command} -o -")).stdout,
            lines.stdout
        );
        // Compressed as the name says.
        found(&sandbox, &format!("{command} -o t.tsv.gz --force"));
        found(&sandbox, &format!("{command} -o t.tsv --force"));
        let plain = sandbox.shell("gzip -dc t.tsv.gz", &[]);
        assert_eq!(plain.stdout, sandbox.read("t.tsv"));
    }
    let message = "a.jsonl: is an input, and no input is replaced; name another output";
    for args in ["pairs a.jsonl", "clusters a.jsonl", "join x.simidx a.jsonl"] {
        refused(&format!("{args} -o a.jsonl --force"), message);
    }
    // A limit leaves nothing behind.
    let limited = "pairs a.jsonl b.jsonl --similarity 0.6 --max-pairs 1 -o limited.csv";
    let args: Vec<&str> = limited.split(' ').collect();
    assert_eq!(sandbox.run(&args).code, Some(2));
    assert!(!sandbox.path("limited.csv").exists());
    // A search that finds nothing writes a table without rows.
    let args = ["pairs", "x.simidx", "-k", "0", "-o", "empty.csv"];
    assert_eq!(sandbox.run(&args).code, Some(1));
    let header = "a_fingerprint,b_fingerprint,distance\n";
    assert_eq!(sandbox.read("empty.csv"), header.as_bytes());
    for other in ["--json", "--count-only"] {
        let ran = sandbox.run(&["pairs", "x.simidx", other, "-o", "t.csv"]);
        assert!(ran.refusal().contains("cannot be used with"), "{ran:?}");
    }
}
