//! The program `simidx`.

use std::process::ExitCode;

fn main() -> ExitCode {
    simidx_cli::prepare_process();
    ExitCode::from(simidx_cli::run(std::env::args_os()))
}
