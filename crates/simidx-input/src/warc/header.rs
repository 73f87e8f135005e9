//! The headers of records and responses: lines with a name, a colon and a value.

/// Returns the value of the first line with a name, ignoring case.
///
/// Archives contain the original headers of servers: malformed lines are skipped.
pub(super) fn value<'a>(header: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut lines = header.split(|&b| b == b'\n');
    lines.find_map(|line| {
        let colon = line.iter().position(|&b| b == b':')?;
        let is_it = line[..colon]
            .trim_ascii()
            .eq_ignore_ascii_case(name.as_bytes());
        is_it.then(|| line[colon + 1..].trim_ascii())
    })
}

/// Returns the number of bytes up to the end of the first empty line, if there is one.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let mut end = 0;
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        end += line.len();
        if matches!(line, b"\n" | b"\r\n") {
            return Some(end);
        }
    }
    None
}

/// A media type, as far as the reader of texts needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaType<'a>(pub(super) &'a [u8]);

impl<'a> MediaType<'a> {
    /// The type without its parameters.
    fn essence(self) -> &'a [u8] {
        let essence = self.0.split(|&b| b == b';').next();
        essence.unwrap_or_default().trim_ascii()
    }

    /// Whether the type is `name`, which must be in lower case.
    pub(super) fn is(self, name: &str) -> bool {
        self.essence().eq_ignore_ascii_case(name.as_bytes())
    }

    /// Whether the type is HTML or plain text.
    pub(super) fn is_text(self) -> bool {
        let texts = ["text/html", "text/plain", "application/xhtml+xml"];
        texts.iter().any(|name| self.is(name))
    }

    /// The charset that the type names.
    pub(super) fn charset(self) -> Option<&'a [u8]> {
        crate::encoding::value_of(self.0, b"charset")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_any_case() {
        let header = b"WARC/1.0\r\nno colon\r\n: x\nA-b :  one: 1 \r\na-B: two\r\n\r\nc: 3";
        assert_eq!(value(header, "a-b"), Some(&b"one: 1"[..]));
        assert_eq!(value(header, "b"), None);
        assert_eq!(length(header), Some(header.len() - 4));
        assert_eq!(length(b"a\r\nb\r\n\r"), None);
        assert_eq!(length(b"a\n\n"), Some(3));
    }

    #[test]
    fn media_types_tell_texts() {
        let html = MediaType(b"Text/HTML ; x=y; Charset=\"gb2312\"");
        assert!(html.is_text());
        assert_eq!(html.charset(), Some(&b"gb2312"[..]));
        assert!(!MediaType(b"text/html5").is_text());
        assert!(MediaType(b"text/plain").charset().is_none());
    }
}
