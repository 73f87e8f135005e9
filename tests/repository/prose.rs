//! Comments, and the messages and help texts of programs, avoid the phrases that the style in `.github/CONTRIBUTING.md`
//! replaces by plainer ones.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use simidx_testkit::document::root;

/// Folders whose comments and docstrings are checked.
const ROOMS: [&str; 16] = [
    "benches/",
    "bindings/c/include/",
    "bindings/c/src/",
    "bindings/python/",
    "bindings/spark/",
    "crates/simidx-cli/",
    "crates/simidx-collection/",
    "crates/simidx-input/",
    "crates/simidx-output/",
    "crates/simidx-server/",
    "crates/simidx-testkit/src/",
    "crates/simidx-text/",
    "examples/",
    "src/",
    "tests/",
    "tools/",
];

/// The phrases, separated by `|`.
const AVOIDED: &str = "What |is no |are no |so many |beside |told |tells |whoever |Whoever |lest |be it |stand for |\
                       stands for |stand in for |stands in for |Those of both|at the most ";

/// Plain phrases that contain an avoided one, in lower case and without their first letter.
const PLAIN: &str = "here is no |here are no |is no longer |are no longer ";

/// The tracked files of the rooms.
fn files() -> Vec<String> {
    let mut command = Command::new("git");
    command.args(["ls-files"]).args(ROOMS).current_dir(root());
    let output = command.output().expect("git is here");
    let names = String::from_utf8(output.stdout).expect("names are UTF-8");
    names.lines().map(str::to_owned).collect()
}

/// The text of a comment line, without its marks.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

/// The comments of a file in Rust, C or C++: consecutive lines are one text. Examples in them are left out.
fn comments(file: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut in_example = false;
    for line in file.lines() {
        match comment(line) {
            None => {
                in_example = false;
                texts.push(String::new());
            }
            Some(text) if text.starts_with("```") => in_example = !in_example,
            Some(_) if in_example => {}
            Some(text) => {
                if let Some(last) = texts.last_mut() {
                    last.push(' ');
                    last.push_str(text);
                }
            }
        }
    }
    texts.retain(|text| !text.is_empty());
    texts
}

/// The strings of a file in Rust, without its comments and its tests at the end. A line break after `\\` is left out.
fn strings(file: &str) -> Vec<String> {
    let (code, _) = file
        .split_once("#[cfg(test)]\nmod tests")
        .unwrap_or((file, ""));
    let code: Vec<&str> = code
        .lines()
        .filter(|line| comment(line).is_none())
        .collect();
    let code = code.join("\n");
    let (mut found, mut is_inside) = (Vec::new(), false);
    // Quotation marks in a string, or as a character, are hidden.
    let code = code
        .replace("\\\\", "")
        .replace("\\\"", "")
        .replace("'\"'", "");
    // Strings with quotation marks in them are of other languages.
    let mut pieces = code.split("r#\"");
    let mut code = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        code += piece.split_once("\"#").map_or("", |(_, behind)| behind);
    }
    assert!(code.matches('"').count().is_multiple_of(2), "{code}");
    for part in code.split('"') {
        if is_inside {
            let lines = part.split("\\\n").map(str::trim_start);
            found.push(lines.collect());
        }
        is_inside = !is_inside;
    }
    found
}

/// The docstrings of a file in Python, and other strings in triple quotes.
fn docstrings(file: &str) -> Vec<String> {
    let strings = file.split("\"\"\"").skip(1).step_by(2);
    strings
        .map(|string| string.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The avoided phrases that a text has.
fn avoided_in(text: &str) -> BTreeSet<&'static str> {
    let mut text = format!(" {text} ");
    for plain in PLAIN.split('|') {
        text = text.replace(plain, " ");
    }
    let is_there = |phrase: &&str| text.contains(&format!(" {phrase}"));
    AVOIDED.split('|').filter(is_there).collect()
}

/// Finds the texts of a file.
type TextsOf = fn(&str) -> Vec<String>;

/// Asserts that the texts of all files avoid the phrases, and that there are more than `least`. `texts_of` names the
/// texts of a file; none are read of a file that it passes over.
fn assert_avoided(texts_of: fn(&str) -> Option<TextsOf>, least: usize) {
    let (mut checked, mut faults) = (0, Vec::new());
    for name in files() {
        let Some(texts) = texts_of(&name) else {
            continue;
        };
        let file = fs::read_to_string(root().join(&name)).expect(&name);
        for text in texts(&file) {
            checked += 1;
            let found = avoided_in(&text).into_iter();
            faults.extend(found.map(|phrase| format!("{name}: \"{phrase}\" in: {text}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > least, "{checked} texts");
}

#[test]
fn comments_avoid_phrases() {
    let texts_of = |name: &str| -> Option<TextsOf> {
        match name.rsplit_once('.')? {
            (_, "rs" | "h" | "hpp") => Some(comments),
            (_, "py" | "pyi") => Some(docstrings),
            _ => None,
        }
    };
    assert_avoided(texts_of, 5000);
}

#[test]
fn messages_and_help_texts_avoid_phrases() {
    let texts_of = |name: &str| -> Option<TextsOf> {
        let is_other = name.contains("test") || name.starts_with("tools/");
        let is_program = name.ends_with(".rs") && name.contains("src/") && !is_other;
        is_program.then_some(strings)
    };
    assert_avoided(texts_of, 3000);
}

#[test]
fn avoided_phrases_are_found() {
    let file = "/// It is\n/// no file.\nfn f() {}\n// There is no file.\n/// ```\n/// // beside\n/// ```\n";
    let found: Vec<_> = comments(file).iter().map(|text| avoided_in(text)).collect();
    assert_eq!(found, [BTreeSet::from(["is no "]), BTreeSet::new()]);
    let file = "// \"is no \"\nlet a = '\"'; \"it is \\\n    no \\\"file\"; \"b\" }\n#[cfg(test)]\nmod tests {\n\"lest \"";
    let found: Vec<_> = strings(file).iter().map(|text| avoided_in(text)).collect();
    assert_eq!(found, [BTreeSet::from(["is no "]), BTreeSet::new()]);
    let found = docstrings("def f():\n    \"\"\"What is\n    here.\"\"\"\n    return 'beside '\n");
    assert_eq!(avoided_in(&found[0]), BTreeSet::from(["What "]));
}
