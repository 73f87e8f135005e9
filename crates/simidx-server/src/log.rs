//! What the server says of itself on stderr: lines of text or of JSON, which no request can forge.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use simidx_output::one_line;

/// What a line of the log looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Time, level, event and fields.
    #[default]
    Text,
    /// An object with these.
    Json,
    /// There is no log.
    None,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Info,
    Warn,
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// Writes the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Log {
    format: LogFormat,
    is_quiet: bool,
}

impl Log {
    pub(crate) fn new(format: LogFormat, is_quiet: bool) -> Self {
        Log { format, is_quiet }
    }

    pub(crate) fn info(&self, event: &str, fields: &[(&str, &str)]) {
        self.measured(event, fields, &[]);
    }

    /// The same with numbers, which come last.
    pub(crate) fn measured(&self, event: &str, fields: &[(&str, &str)], numbers: &[(&str, u128)]) {
        if !self.is_quiet {
            self.write(Level::Info, event, fields, numbers);
        }
    }

    /// A line of the access log, which was asked for.
    pub(crate) fn access(&self, fields: &[(&str, &str)], numbers: &[(&str, u128)]) {
        self.write(Level::Info, "request", fields, numbers);
    }

    pub(crate) fn warn(&self, event: &str, fields: &[(&str, &str)]) {
        self.write(Level::Warn, event, fields, &[]);
    }

    pub(crate) fn error(&self, event: &str, fields: &[(&str, &str)]) {
        self.write(Level::Error, event, fields, &[]);
    }

    fn write(&self, level: Level, event: &str, fields: &[(&str, &str)], numbers: &[(&str, u128)]) {
        let now = timestamp(SystemTime::now());
        let line = self.line((&now, level, event), fields, numbers);
        // A stderr that cannot be written to is no reason to stop.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn line(
        &self,
        (time, level, event): (&str, Level, &str),
        fields: &[(&str, &str)],
        numbers: &[(&str, u128)],
    ) -> String {
        let level = level.name();
        match self.format {
            LogFormat::Text => {
                let mut line = format!("{time} {level} {}", one_line(event));
                for (name, value) in fields {
                    let _ = write!(line, " {name}={}", quoted(value));
                }
                for (name, number) in numbers {
                    let _ = write!(line, " {name}={number}");
                }
                line.push('\n');
                line
            }
            LogFormat::Json => {
                let mut object = serde_json::Map::new();
                let head = [("time", time), ("level", level), ("event", event)];
                for (name, value) in head.iter().chain(fields) {
                    object.insert((*name).to_owned(), (*value).into());
                }
                for (name, number) in numbers {
                    let number = u64::try_from(*number).unwrap_or(u64::MAX);
                    object.insert((*name).to_owned(), number.into());
                }
                let mut line = Vec::new();
                // A vector takes everything.
                let _ = simidx_output::JsonStyle::default().write(&mut line, &object);
                String::from_utf8_lossy(&line).into_owned() + "\n"
            }
            LogFormat::None => String::new(),
        }
    }
}

/// A value that ends where it seems to end.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '=' | '\\');
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", one_line(&escaped))
}

/// A time as in RFC 3339, to the millisecond.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, rest) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let ms = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// The date of a day since 1970.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that the leap day is the last one.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, shown) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (4_102_444_800, "2100-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), shown);
        }
    }

    #[test]
    fn no_value_makes_a_line_of_its_own() {
        let hostile = "x\n2026 error forged\r\u{1b}[2J\u{2028}\" a=b\\";
        for format in [LogFormat::Text, LogFormat::Json] {
            let log = Log::new(format, false);
            let line = log.line(("T", Level::Warn, "event"), &[("path", hostile)], &[]);
            assert_eq!(line.lines().count(), 1);
            assert!(
                !line
                    .trim_end()
                    .contains(|c: char| c.is_control() || c == '\u{2028}')
            );
        }
        let line = |format| {
            let log = Log::new(format, false);
            log.line(("T", Level::Info, "e"), &[("a", "1 b=2")], &[("us", 21)])
        };
        assert_eq!(line(LogFormat::Text), "T info e a=\"1 b=2\" us=21\n");
        let json: serde_json::Value = serde_json::from_str(&line(LogFormat::Json)).unwrap();
        assert_eq!(json["us"], 21);
    }
}
