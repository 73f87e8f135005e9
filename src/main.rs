//! The `simidx` program: parse the arguments, run the command, turn its result into an exit code.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
