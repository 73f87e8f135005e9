//! Progress bars on stderr.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// When to draw progress bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ProgressMode {
    /// When stderr is a terminal
    Auto,
    /// In any case
    Always,
    /// Never
    Never,
}

impl ProgressMode {
    fn target(self) -> ProgressDrawTarget {
        match self {
            ProgressMode::Never => ProgressDrawTarget::hidden(),
            ProgressMode::Auto if !std::io::stderr().is_terminal() => ProgressDrawTarget::hidden(),
            // indicatif itself hides bars where there is no terminal; a width makes it draw.
            ProgressMode::Auto => ProgressDrawTarget::stderr(),
            ProgressMode::Always => ProgressDrawTarget::term_like(Box::new(PlainStderr)),
        }
    }

    /// A count of things whose number is not known beforehand.
    pub(super) fn counter(self, what: &'static str) -> ProgressBar {
        let style = "{msg} {human_pos} {prefix} ({per_sec}, {elapsed})";
        self.bar(style).with_prefix(what)
    }

    /// The name of the stage that is under way.
    pub(super) fn spinner(self) -> ProgressBar {
        self.bar("{msg} ({elapsed})")
    }

    fn bar(self, style: &'static str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(None, self.target());
        let style = ProgressStyle::with_template(style);
        bar.set_style(style.expect("the templates in this file are well-formed"));
        if self != ProgressMode::Never {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        bar
    }
}

/// Draws on a stderr that is no terminal: a line for each state, nothing taken back.
#[derive(Debug)]
struct PlainStderr;

impl indicatif::TermLike for PlainStderr {
    fn width(&self) -> u16 {
        100
    }

    fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn write_line(&self, line: &str) -> std::io::Result<()> {
        writeln!(std::io::stderr(), "{}", line.trim_end())
    }

    fn write_str(&self, text: &str) -> std::io::Result<()> {
        match text.trim_end() {
            "" => Ok(()),
            line => self.write_line(line),
        }
    }

    fn clear_line(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> std::io::Result<()> {
        Ok(())
    }
}
