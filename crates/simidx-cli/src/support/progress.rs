//! Progress bars on stderr.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Number of records between updates of a bar that counts them one by one.
const SHOWN_EVERY: u64 = 1 << 10;

/// When to draw progress bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProgressMode {
    /// If stderr is a terminal
    Auto,
    /// Always
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

    /// A count of things whose total is not known.
    pub(crate) fn counter(self, what: &'static str) -> ProgressBar {
        let style = "{msg} {human_pos} {prefix} ({per_sec}, {elapsed})";
        self.bar(style).with_prefix(what)
    }

    /// A stage with a known number of records, and how much has been written so far. Its first line already shows its name
    /// and figures.
    pub(crate) fn stage(self, name: String, total: u64, written: String) -> ProgressBar {
        let style =
            "{msg} {human_pos} of {human_len} ({rate}/s, {prefix} written, {elapsed}, {eta} left)";
        let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{}", HumanCount(state.per_sec() as u64));
        };
        let bar = ProgressBar::hidden();
        bar.set_style(template(style).with_key("rate", rate));
        bar.set_message(name);
        bar.set_prefix(written);
        bar.set_length(total);
        bar.set_draw_target(self.target());
        self.start_ticking(&bar);
        bar
    }

    /// The name of the running stage.
    pub(crate) fn spinner(self) -> ProgressBar {
        self.bar("{msg} ({elapsed})")
    }

    /// Records, of this kind, that are read from inputs.
    pub(crate) fn reading(self, what: &'static str) -> ReadingBar {
        ReadingBar {
            mode: self,
            what,
            doing: "reading",
            bar: ProgressBar::hidden(),
            records: Arc::default(),
        }
    }

    fn bar(self, style: &'static str) -> ProgressBar {
        self.styled(template(style))
    }

    fn styled(self, style: ProgressStyle) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(None, self.target());
        bar.set_style(style);
        self.start_ticking(&bar);
        bar
    }

    fn start_ticking(self, bar: &ProgressBar) {
        if self != ProgressMode::Never {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
    }
}

/// Records and bytes of inputs as they are read.
pub(crate) struct ReadingBar {
    mode: ProgressMode,
    what: &'static str,
    /// What is done to the inputs.
    doing: &'static str,
    /// Counts bytes, from which the time left is estimated.
    bar: ProgressBar,
    records: Arc<AtomicU64>,
}

impl ReadingBar {
    /// Says what is done to the inputs, if it is more than reading.
    pub(crate) fn doing(mut self, doing: &'static str) -> Self {
        self.doing = doing;
        self
    }

    /// Begins to draw; with `total` bytes, if that is known, also the time left.
    pub(crate) fn start(mut self, total: Option<u64>) -> Self {
        let style = match total {
            Some(_) => {
                "{msg} {records} {prefix} ({rate}/s, {bytes} of {total_bytes}, {elapsed}, {eta} left)"
            }
            None => "{msg} {records} {prefix} ({rate}/s, {bytes}, {elapsed})",
        };
        let (records, timed) = (Arc::clone(&self.records), Arc::clone(&self.records));
        let style = template(style)
            .with_key(
                "records",
                move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                    let _ = write!(out, "{}", HumanCount(records.load(Ordering::Relaxed)));
                },
            )
            .with_key(
                "rate",
                move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                    let records = timed.load(Ordering::Relaxed) as f64;
                    let rate = records / state.elapsed().as_secs_f64().max(0.001);
                    let _ = write!(out, "{}", HumanCount(rate as u64));
                },
            );
        self.bar = self.mode.styled(style).with_prefix(self.what);
        if let Some(total) = total {
            self.bar.set_length(total);
        }
        self.bar.set_message(self.doing);
        self
    }

    /// Shows what has been read altogether.
    pub(crate) fn show(&self, records: u64, bytes: u64) {
        self.records.store(records, Ordering::Relaxed);
        self.bar.set_position(bytes);
    }

    /// The same for each record, of which few are shown.
    pub(crate) fn show_sometimes(&self, records: u64, bytes: u64) {
        if records.is_multiple_of(SHOWN_EVERY) {
            self.show(records, bytes);
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn template(style: &str) -> ProgressStyle {
    ProgressStyle::with_template(style).expect("the templates in this file are well-formed")
}

/// Draws on a stderr that is not a terminal: a line for each state, and nothing is erased.
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
