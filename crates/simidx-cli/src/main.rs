//! The `simidx` program: parse the arguments, run the command, turn its result into an exit code.

mod cmd;
mod support;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use cmd::Command;
use support::failure::Failure;
use support::progress::ProgressMode;
use support::{memory, output};

/// clap's error for a command line without a command; it prints the help.
const NO_COMMAND: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

/// Exit code for "no match" and "damaged".
const EXIT_NO: u8 = 1;

/// Exit code for "could not run".
const EXIT_FAILURE: u8 = 2;

/// The head of `simidx --help` and of its man page.
const HELP: &str = "\
Exact near-duplicate search over simhash fingerprints, in a compressed index file.

Examples:
  simidx build docs.jsonl -o docs.simidx
  simidx query docs.simidx --text \"The quick brown fox\"
  simidx dedup docs.jsonl -o kept.jsonl
  simidx help query";

#[derive(Debug, Parser)]
#[command(
    name = "simidx",
    version = version(),
    about = "Exact near-duplicate search over simhash fingerprints, in a compressed index file",
    long_about = HELP,
    after_help = "Exit codes: 0 done, match found, index sound; 1 no match, index damaged; 2 could not run.",
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// When to draw progress bars on stderr
    #[arg(long, global = true, value_enum, default_value_t = ProgressMode::Auto, value_name = "WHEN")]
    progress: ProgressMode,
}

/// Crate version and the format versions read and written.
fn version() -> &'static str {
    const _: () = assert!(
        simidx::format::FORMAT_VERSION == 1,
        "say the new version below"
    );
    concat!(
        env!("CARGO_PKG_VERSION"),
        " (reads and writes file format version 1)"
    )
}

/// Parses the arguments and runs the command.
fn main() -> ExitCode {
    memory::return_large_buffers();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && error.kind() != NO_COMMAND => {
            output::say(usage_error(&error));
            return ExitCode::from(EXIT_FAILURE);
        }
        // Help and version.
        Err(help) => help.exit(),
    };
    match cli.command.run(cli.progress) {
        Ok(answer) => ExitCode::from(if answer { 0 } else { EXIT_NO }),
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::say(failure);
            ExitCode::from(EXIT_FAILURE)
        }
    }
}

/// An error of the command line in one line: what is wrong without clap's advice on further lines.
fn usage_error(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let clause: Vec<&str> = text
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect();
    let clause = clause.join(" ");
    let clause = clause.strip_prefix("error: ").unwrap_or(&clause);
    Failure::new(format!("{clause}; see --help"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_of_the_arguments_agree_with_each_other() {
        Cli::command().debug_assert();
    }

    /// The words of a line of a shell; quotes hold one together.
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
        let program = Cli::command();
        for command in std::iter::once(&program).chain(program.get_subcommands()) {
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
                    if let Err(error) = Cli::try_parse_from(words(line)) {
                        assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{line}: {error}");
                    }
                }
            }
        }
    }
}
