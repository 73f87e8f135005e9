//! Checks all commands and flags by the same rules.

use std::collections::{BTreeMap, BTreeSet};

use clap::builder::ValueRange;
use clap::{Arg, Command as Definition};

use super::*;

/// Largest width of a help text.
const WIDTH: usize = 100;

/// Number of words that all help texts of a flag have in common at their start.
const STEM: usize = 2;

/// Returns the program and its commands, with clap's additions.
fn commands() -> Vec<Definition> {
    let mut program = program();
    program.build();
    let commands: Vec<_> = program.get_subcommands().cloned().collect();
    assert!(commands.len() > 15);
    [vec![program], commands].concat()
}

/// Calls `check` with each flag of each command.
fn for_each_flag(mut check: impl FnMut(&Definition, &str, &Arg)) {
    for command in commands() {
        for arg in command.get_arguments() {
            if let Some(long) = arg.get_long() {
                check(&command, long, arg);
            }
        }
    }
}

fn help(arg: &Arg) -> String {
    arg.get_help().expect("every argument has help").to_string()
}

fn value_names(arg: &Arg) -> Vec<String> {
    let takes_value = arg.get_num_args() != Some(ValueRange::EMPTY);
    let names = arg.get_value_names().filter(|_| takes_value);
    names
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn the_definitions_of_the_arguments_agree_with_each_other() {
    program().debug_assert();
}

#[test]
fn a_flag_is_the_same_in_all_commands() {
    let mut kinds = BTreeMap::<String, BTreeSet<String>>::new();
    for_each_flag(|command, long, arg| {
        // A served index has a name; in other commands, the flag is only a file.
        if (command.get_name(), long) == ("serve", "index") {
            return;
        }
        let (short, heading, values) = (arg.get_short(), arg.get_help_heading(), value_names(arg));
        let text = help(arg);
        let stem: Vec<&str> = text.split_whitespace().take(STEM).collect();
        let kind = format!("{short:?} {heading:?} {values:?} {stem:?}");
        let kinds = kinds.entry(long.to_owned()).or_default();
        kinds.insert(kind);
        assert_eq!(
            kinds.len(),
            1,
            "{}: --{long}: {kinds:?}",
            command.get_name()
        );
    });
    assert!(kinds.len() > 50);
}

#[test]
fn a_letter_is_the_same_flag_in_all_commands() {
    let mut letters = BTreeMap::<char, BTreeSet<String>>::new();
    for_each_flag(|_, long, arg| {
        if let Some(letter) = arg.get_short() {
            letters.entry(letter).or_default().insert(long.to_owned());
        }
    });
    assert!(letters.contains_key(&'k') && letters.contains_key(&'o'));
    assert!(
        letters.values().all(|flags| flags.len() == 1),
        "{letters:?}"
    );
}

#[test]
fn flags_stand_under_the_heading_of_what_they_are_about() {
    let groups = [
        (
            heading::INPUT,
            &["input", "text-field", "id-field", "encoding", "on-error"][..],
        ),
        (
            heading::DOCUMENTS,
            &["pipeline", "html", "user-dictionary", "stop-words", "idf"],
        ),
        (
            heading::RESOURCES,
            &["memory", "temp-dir", "threads", "no-mmap"],
        ),
        (heading::OUTPUT, &["progress", "quiet", "json-strings"]),
    ];
    for_each_flag(|command, long, arg| {
        let (command, found) = (command.get_name(), arg.get_help_heading());
        match groups.iter().find(|(_, flags)| flags.contains(&long)) {
            Some((heading, _)) => assert_eq!(found, Some(*heading), "{command}: --{long}"),
            // A flag may have its own group, but not the group of other flags.
            None => assert!(
                groups.iter().all(|(heading, _)| found != Some(*heading))
                    || found == Some(heading::INPUT),
                "{command}: --{long}: {found:?}"
            ),
        }
        let everywhere = [
            "output",
            "max-distance",
            "similarity",
            "features",
            "force",
            "json",
            "limit",
        ];
        assert!(
            !everywhere.contains(&long) || found.is_none(),
            "{command}: --{long}"
        );
    });
}

#[test]
fn help_texts_are_sentences_of_one_style() {
    for command in commands() {
        for arg in command.get_arguments() {
            let text = help(arg);
            let context = format!("{}: {}: {text}", command.get_name(), arg.get_id());
            assert!(text.starts_with(char::is_uppercase), "{context}");
            assert!(!text.ends_with('.'), "{context}");
        }
    }
}

#[test]
fn help_fits_a_terminal() {
    for mut command in commands() {
        let name = command.get_name().to_owned();
        for text in [command.render_help(), command.render_long_help()] {
            let text = text.to_string();
            let widest = text
                .lines()
                .max_by_key(|line| line.chars().count())
                .unwrap();
            assert!(widest.chars().count() <= WIDTH, "{name}: {widest}");
        }
        let usage = command.render_usage().to_string();
        assert!(usage.len() <= WIDTH, "{usage}");
    }
}

#[test]
fn the_help_of_the_program_is_a_screen_that_names_everything() {
    let mut program = program();
    let help = program.render_long_help().to_string();
    assert_eq!(help, program.render_help().to_string());
    assert!(help.lines().count() <= 40 && help.lines().all(|line| line.len() <= 80));
    let first_word = |line: &str| Some(line.strip_prefix("  ")?.split(' ').next()?.to_owned());
    let (_, lists) = help.split_once("\n\nDocuments:\n").unwrap();
    let (lists, rest) = lists.split_once("\nAlso: ").unwrap();
    let shown: BTreeSet<String> = lists.lines().filter_map(first_word).collect();
    assert!(shown.len() <= 16, "{shown:?}");
    let (also, options) = rest.split_once("\n\n").unwrap();
    let help = |command: &&Definition| command.get_name() == "help";
    for command in program.get_subcommands().filter(|command| !help(command)) {
        let name = command.get_name();
        assert_eq!(shown.contains(name), !command.is_hide_set(), "{name}");
        assert!(shown.contains(name) || also.contains(name), "{name}");
    }
    assert!(
        shown
            .iter()
            .all(|name| program.find_subcommand(name).is_some())
    );
    for arg in program.get_arguments() {
        let flag = format!("--{}", arg.get_long().unwrap());
        assert!(options.contains(&flag), "{flag}");
    }
}

#[test]
fn the_help_of_dedup_is_not_endless() {
    let commands = commands();
    let dedup = commands
        .iter()
        .find(|command| command.get_name() == "dedup");
    let arguments: Vec<&Arg> = dedup.unwrap().get_arguments().collect();
    let named = dedup.unwrap().get_long_about().unwrap().to_string();
    let is_option = |arg: &&&Arg| arg.get_long().is_some() && !arg.is_hide_set();
    assert!(arguments.iter().filter(is_option).count() <= 30);
    for arg in arguments.iter().filter(|arg| arg.is_hide_set()) {
        let flag = format!("--{}", arg.get_long().unwrap());
        assert!(
            named.contains(&flag) || flag == "--annotate-prefix",
            "{flag}"
        );
    }
}

/// Splits a shell line into words; quotes hold a word together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in line.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => words.push(String::new()),
            (c, _) => words.last_mut().unwrap().push(c),
        }
    }
    words
}

#[test]
fn every_example_of_a_help_text_is_a_valid_command_line() {
    for command in commands() {
        if command.get_name() == "help" {
            continue;
        }
        let help = command.get_long_about().unwrap().to_string();
        let (_, examples) = help.split_once("\n\nExamples:\n").unwrap();
        assert!(examples.lines().count() >= 2, "{}", command.get_name());
        for line in examples.lines() {
            assert!(line.len() <= 80, "{line}");
            let lines = line.trim().split(" | ");
            let ours: Vec<_> = lines.filter(|line| line.starts_with("simidx ")).collect();
            assert!(!ours.is_empty(), "{line}");
            for line in ours {
                let line = line.split(" > ").next().unwrap();
                if let Err(error) = program().try_get_matches_from(words(line)) {
                    assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{line}: {error}");
                }
            }
        }
    }
}

/// Returns a command line with this value of a flag, and the other required arguments of the command.
fn with_value(command: &Definition, arg: &Arg, value: &str) -> Vec<String> {
    let mut line = vec!["simidx".to_owned(), command.get_name().to_owned()];
    for other in command.get_arguments() {
        let is_it = other.get_id() == arg.get_id();
        if other.is_required_set() && !is_it {
            line.extend(other.get_long().map(|long| format!("--{long}")));
            line.push("1".to_owned());
        }
    }
    line.push(format!("--{}", arg.get_long().unwrap()));
    line.push(value.to_owned());
    line
}

/// Returns clap's reason for refusing this value of a flag, if it does.
fn refusal(command: &Definition, arg: &Arg, value: &str) -> Option<String> {
    let line = with_value(command, arg, value);
    let error = program().try_get_matches_from(line).err()?;
    let is_about_value = matches!(
        error.kind(),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue
    );
    is_about_value.then(|| usage_error(&error).to_string())
}

#[test]
fn sizes_and_counts_are_read_in_one_way() {
    let mut checked = 0;
    for_each_flag(|command, long, arg| {
        let names = value_names(arg);
        let taken: &[&str] = match names.first().map(String::as_str) {
            Some("SIZE") if long == "block-size" => &["512", "4KiB", "1k", "0.5KiB", "1e3"],
            Some("SIZE") => &["64MiB", "1.5GB", "10M", "1e9", "2.5e8", "100000000"],
            Some("N" | "COUNT") if ["threads", "tables"].contains(&long) => &["1", "2"],
            Some("N" | "COUNT") => &["1", "1000", "1e3", "1.5k", "2K"],
            Some("K" | "D") => &["1", "3", "1e1"],
            _ => return,
        };
        for value in taken {
            assert_eq!(
                refusal(command, arg, value),
                None,
                "{}: --{long}",
                command.get_name()
            );
        }
        for value in ["", "x", "-1", "1.5.2", "1x", "99999999999999999999"] {
            let refused = refusal(command, arg, value);
            let refused =
                refused.unwrap_or_else(|| panic!("{}: --{long} {value}", command.get_name()));
            assert!(
                refused.contains("--help") && refused.contains(long),
                "{refused}"
            );
        }
        checked += 1;
    });
    assert!(checked > 30, "{checked}");
}

#[test]
fn a_negative_number_is_a_bad_value_and_no_flag() {
    for_each_flag(|command, long, arg| {
        let line = with_value(command, arg, "-1");
        let is_global = arg.is_global_set();
        if value_names(arg).is_empty() || is_global || command.get_name() == "simidx" {
            return;
        }
        if let Err(error) = program().try_get_matches_from(line) {
            assert_ne!(
                error.kind(),
                ErrorKind::UnknownArgument,
                "{}: --{long}: {error}",
                command.get_name()
            );
        }
    });
}

#[test]
fn what_was_probably_meant_is_said() {
    let message = |line: &str| {
        let error = program().try_get_matches_from(words(line)).unwrap_err();
        usage_error(&error).to_string()
    };
    for (line, meant) in [
        ("simidx dedupe a", "did you mean dedup? "),
        ("simidx quary a", "did you mean query? "),
        ("simidx build a -o x --treads 3", "did you mean --threads? "),
        (
            "simidx query a --distance 3",
            "did you mean --max-distance? ",
        ),
        ("simidx build a -o x --codec gab", "did you mean gap? "),
    ] {
        let message = message(line);
        assert!(
            message.ends_with(&format!("{meant}see --help")),
            "{message}"
        );
    }
}
