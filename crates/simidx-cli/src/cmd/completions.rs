//! `simidx completions`: scripts for shells that complete command lines.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::cmd::Answer;
use crate::support::output::stdout;

/// The head of `simidx completions --help` and of its man page.
pub(crate) const HELP: &str = "\
Print a completion script for a shell.

Examples:
  simidx completions bash > ~/.local/share/bash-completion/completions/simidx
  simidx completions zsh > ~/.zfunc/_simidx
  simidx completions fish > ~/.config/fish/completions/simidx.fish";

/// Arguments of `simidx completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Shell that reads the script
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Answer {
    let mut script = Vec::new();
    // The script is generated in memory, because the generator does not report a closed output.
    clap_complete::generate(args.shell, &mut Cli::command(), "simidx", &mut script);
    let mut out = stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(true)
}
