//! The log on stderr: lines of text or of JSON, which a request cannot forge.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};
use simidx_output::{JsonStyle, one_line};

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Text: time, level, event and fields.
    #[default]
    Text,
    /// JSON: an object with the same fields.
    Json,
    /// No log.
    None,
}

/// Writes the log. The fields of a line are strings and numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    pub(crate) is_quiet: bool,
}

impl Log {
    /// Writes an informational line, unless the log is quiet.
    pub(crate) fn info(self, event: &str, fields: &[(&str, Value)]) {
        if !self.is_quiet {
            self.write("info", event, fields);
        }
    }

    pub(crate) fn warn(self, event: &str, fields: &[(&str, Value)]) {
        self.write("warn", event, fields);
    }

    pub(crate) fn error(self, event: &str, fields: &[(&str, Value)]) {
        self.write("error", event, fields);
    }

    pub(crate) fn write(self, level: &str, event: &str, fields: &[(&str, Value)]) {
        let line = self.line([&timestamp(SystemTime::now()), level, event], fields);
        // The server continues even if stderr cannot be written to.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn line(self, [time, level, event]: [&str; 3], fields: &[(&str, Value)]) -> String {
        match self.format {
            LogFormat::Text => {
                let mut line = format!("{time} {level} {}", one_line(event));
                for (name, value) in fields {
                    let value = value.as_str().map_or_else(|| value.to_string(), quoted);
                    let _ = write!(line, " {name}={value}");
                }
                line + "\n"
            }
            LogFormat::Json => {
                let head = [("time", time), ("level", level), ("event", event)];
                let head = head.map(|(name, word)| (name, Value::from(word)));
                let all = head.iter().chain(fields).cloned();
                let object: Map<_, _> = all.map(|(name, value)| (name.to_owned(), value)).collect();
                let mut line = Vec::new();
                // Writing to a vector cannot fail.
                let _ = JsonStyle::default().write(&mut line, &object);
                String::from_utf8_lossy(&line).into_owned() + "\n"
            }
            LogFormat::None => String::new(),
        }
    }
}

/// Quotes a value if it could be misread without quotes.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '=' | '\\');
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", one_line(&escaped))
}

/// Formats a time as in RFC 3339, to the millisecond.
pub(crate) fn timestamp(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

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
        let log = |format| Log {
            format,
            is_quiet: false,
        };
        for format in [LogFormat::Text, LogFormat::Json] {
            let line = log(format).line(["T", "warn", "event"], &[("path", hostile.into())]);
            assert_eq!(line.lines().count(), 1);
            assert!(
                !line
                    .trim_end()
                    .contains(|c: char| c.is_control() || c == '\u{2028}')
            );
        }
        let fields = [("a", "1 b=2".into()), ("us", 21.into())];
        let line = |format| log(format).line(["T", "info", "e"], &fields);
        assert_eq!(line(LogFormat::Text), "T info e a=\"1 b=2\" us=21\n");
        let json: Value = serde_json::from_str(&line(LogFormat::Json)).unwrap();
        assert_eq!(json["us"], 21);
    }
}
