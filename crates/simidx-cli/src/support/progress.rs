//! Progress bars on stderr.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Once;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use simidx::Watch;

use super::messages::say;

/// Number of terminal columns that the bars are designed for.
const WIDTH: u16 = 80;

/// Number of records between updates of a bar that counts them one by one.
const SHOWN_EVERY: u64 = 1 << 10;

/// A comparison of texts is slow if it takes longer than this time, and decides fewer texts a second than this number.
/// Usual ones are ten times as fast.
const SLOW_AFTER: Duration = Duration::from_secs(60);
const SLOW_RATE: u64 = 10_000;

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
            // indicatif hides bars without a terminal; a fixed width makes it draw.
            ProgressMode::Auto => ProgressDrawTarget::stderr(),
            ProgressMode::Always => ProgressDrawTarget::term_like(Box::new(PlainStderr)),
        }
    }

    /// Returns a counter without a known total.
    pub(crate) fn counter(self, what: &'static str) -> ProgressBar {
        let style = template("{msg} {human_pos} {prefix} ({elapsed})");
        self.styled(style).with_prefix(what)
    }

    /// Returns the bar of a stage with a known number of records, and the amount written so far. Its first line already
    /// shows its name and figures.
    pub(crate) fn stage(self, name: String, total: u64, written: String) -> ProgressBar {
        let style = template("{msg} {human_pos} of {human_len} ({prefix}, {eta} left)");
        let bar = ProgressBar::hidden();
        bar.set_style(style);
        bar.set_message(name);
        bar.set_prefix(written);
        bar.set_length(total);
        bar.set_draw_target(self.target());
        self.start_ticking(&bar);
        bar
    }

    /// Returns a spinner with the name of the current stage.
    pub(crate) fn spinner(self, doing: impl Into<Cow<'static, str>>) -> ProgressBar {
        self.styled(template("{msg} ({elapsed})"))
            .with_message(doing)
    }

    /// Returns a bar with the share of compared texts, and the watch that moves it. If the comparison is slow, a message
    /// names the likely reason, since a run without a terminal shows no bar.
    pub(crate) fn comparing(self) -> (ProgressBar, Watch) {
        let bar = self.styled(template("comparing texts ({percent}%, {elapsed})"));
        let shown = bar.clone();
        let start = Instant::now();
        let said = Once::new();
        let watch = Watch::new(move |progress| {
            shown.set_length(progress.total);
            shown.set_position(progress.done);
            let elapsed = start.elapsed();
            if is_slow(elapsed, progress.done) {
                said.call_once(|| {
                    shown.suspend(|| say_slow(elapsed, progress.done, progress.total));
                });
            }
            ControlFlow::Continue(())
        });
        (bar, watch)
    }

    /// Returns the bar for reading records from inputs; if the `total` number of bytes is known, it shows the remaining
    /// time.
    pub(crate) fn reading(
        self,
        doing: &'static str,
        what: &'static str,
        total: Option<u64>,
    ) -> ReadingBar {
        let shown = match total {
            Some(_) => "{bytes} of {total_bytes}, {eta} left",
            None => "{bytes}, {elapsed}",
        };
        let style = template(&format!("{{msg}} {{prefix}} {what} ({shown})"));
        let bar = self.styled(style).with_prefix("0");
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.set_message(doing);
        ReadingBar(bar)
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

/// The options of the bar for inputs: when it is drawn, the operation on them, and the name of their records.
pub(crate) type Reading = (ProgressMode, &'static str, &'static str);

/// A bar with the numbers of records and bytes read from inputs. It counts bytes, from which the remaining time is
/// estimated.
pub(crate) struct ReadingBar(ProgressBar);

impl ReadingBar {
    /// Shows the total number of records and bytes read.
    pub(crate) fn show(&self, records: u64, bytes: u64) {
        self.0.set_prefix(HumanCount(records).to_string());
        self.0.set_position(bytes);
    }

    /// [`ReadingBar::show`] for calls at each record, of which few are shown.
    pub(crate) fn show_sometimes(&self, records: u64, bytes: u64) {
        if records.is_multiple_of(SHOWN_EVERY) {
            self.show(records, bytes);
        }
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// Whether a comparison that has decided this number of texts is slow.
fn is_slow(elapsed: Duration, done: u64) -> bool {
    elapsed >= SLOW_AFTER && done < SLOW_RATE * elapsed.as_secs()
}

fn say_slow(elapsed: Duration, done: u64, total: u64) {
    say(format_args!(
        "compared {} of {} texts in {} s, which is slow: probably many are of one template but less similar than asked \
         for, so that they are compared pair by pair; `dedup` with a lower --similarity drops them",
        HumanCount(done),
        HumanCount(total),
        elapsed.as_secs(),
    ));
}

fn template(style: &str) -> ProgressStyle {
    ProgressStyle::with_template(style).expect("the templates in this file are well-formed")
}

/// Draws on a stderr that is not a terminal: each state is a new line, and nothing is erased.
#[derive(Debug)]
struct PlainStderr;

impl indicatif::TermLike for PlainStderr {
    fn width(&self) -> u16 {
        WIDTH
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
        use std::io::Write;
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// The lines that were drawn.
    #[derive(Debug, Clone, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl indicatif::TermLike for Screen {
        fn width(&self) -> u16 {
            300
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
            self.write_str(line)
        }

        fn write_str(&self, text: &str) -> std::io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> std::io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Returns the line of a bar.
    fn line(bar: &ProgressBar) -> String {
        let screen = Screen::default();
        bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(screen.clone())));
        bar.tick();
        let line = screen.0.lock().unwrap();
        line.trim_end().to_owned()
    }

    #[test]
    fn only_comparisons_that_take_long_are_slow() {
        let [early, late] = [1, 100].map(Duration::from_secs);
        assert!(!is_slow(early, 0));
        assert!(is_slow(late, 999_999));
        assert!(!is_slow(late, 1_000_000));
    }

    #[test]
    fn bars_fit_a_terminal() {
        let stages = [
            "choosing a code for table 0",
            "choosing a code for table 34",
            "merging the records",
        ];
        for (name, total) in stages
            .into_iter()
            .flat_map(|name| [(name, 9_999_999), (name, 8_600_000_000)])
        {
            let bar = ProgressMode::Never.stage(name.into(), total, "1023 MiB".into());
            bar.set_position(total - 1);
            let shown = line(&bar);
            assert!(
                shown.chars().count() <= WIDTH.into() && shown.contains(name),
                "{shown}"
            );
        }
        for what in ["documents", "records"] {
            let reading = ProgressMode::Never.reading("reading again", what, Some(999 << 30));
            reading.show(999_999_999, 998 << 30);
            let shown = line(&reading.0);
            assert!(
                shown.chars().count() <= WIDTH.into() && shown.contains(what),
                "{shown}"
            );
        }
    }
}
