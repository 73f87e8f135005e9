//! `simidx man`: the manual pages, made from the definitions that `--help` prints.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::Cli;
use crate::cmd::Answer;
use crate::support::failure::Failure;
use crate::support::inputs::InputFiles;
use crate::support::output::Output;

/// The head of `simidx man --help` and of its man page.
pub(crate) const HELP: &str = "\
Write the manual pages: simidx.1 and one page for each command.

Examples:
  simidx man --dir ~/.local/share/man/man1
  simidx man --dir man --force";

/// The line in a help text that is followed by examples.
const EXAMPLES: &str = "\n\nExamples:\n";

/// Arguments of `simidx man`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory for the pages; it is created if it does not exist
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Replace an existing page
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Answer {
    fs::create_dir_all(&args.dir).map_err(Failure::at(&args.dir))?;
    let pages = pages()?;
    let none = InputFiles::default();
    let output = |name: &str| Output::for_text(&args.dir.join(name), args.force, &none);
    let outputs = pages.iter().map(|(name, _)| output(name));
    // All outputs are checked before the first is written.
    let outputs = outputs.collect::<Result<Vec<_>, Failure>>()?;
    for ((_, page), output) in pages.iter().zip(outputs) {
        output.write(|out| Ok(out.write_all(page)?))?;
    }
    Ok(true)
}

/// Returns the pages with their file names, starting with the page of the program.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let shown = |command: Command| command.hide(false).mut_args(|arg| arg.hide(false));
    let program = Cli::command().disable_help_subcommand(true);
    let mut program = program.mut_subcommands(shown);
    program.build();
    std::iter::once(&program)
        .chain(program.get_subcommands())
        .map(|command| {
            let name = command.get_display_name().unwrap_or(command.get_name());
            Ok((format!("{name}.1"), page(command)?))
        })
        .collect()
}

/// Returns the page of a command.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let head = command.get_long_about().map(ToString::to_string);
    let head = head.unwrap_or_default();
    let (description, examples) = head.split_once(EXAMPLES).unwrap_or((&head, ""));
    let man = Man::new(command.clone().long_about(description.to_owned()))
        .source(concat!("simidx ", env!("CARGO_PKG_VERSION")))
        .manual("simidx");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    examples_section(examples).to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(exit_codes) = command.get_after_help() {
        let mut section = Roff::new();
        section.control("SH", ["EXIT STATUS"]);
        section.text([roman(exit_codes.to_string())]);
        section.to_writer(&mut page)?;
    }
    Ok(page)
}

/// Returns the section of examples, one on each line, unchanged.
fn examples_section(examples: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["EXAMPLES"]);
    section.control("nf", []);
    for line in examples.lines() {
        section.text([roman(line.trim_start())]);
    }
    section.control("fi", []);
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_examples() {
        let pages = pages().unwrap();
        assert_eq!(pages[0].0, "simidx.1");
        assert_eq!(pages.len(), 1 + Cli::command().get_subcommands().count());
        for (name, page) in pages {
            let page = String::from_utf8(page).unwrap();
            let examples = page.split(".SH EXAMPLES").nth(1).unwrap();
            assert!(examples.starts_with("\n.nf\nsimidx "), "{name}: {examples}");
        }
    }
}
