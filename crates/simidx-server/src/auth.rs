//! Who may ask: a token in the head of each request.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

/// Least characters of a token: fewer can be guessed.
const MIN_LEN: usize = 16;

/// Most bytes of a file with a token.
const MAX_LEN: u64 = 4096;

/// What a request must show. It is compared in constant time, and no message has it.
///
/// ```
/// use simidx_server::Token;
///
/// let token = Token::new("correct horse battery staple")?;
/// assert_eq!(format!("{token:?}"), "Token(…)");
/// assert!(Token::new("short").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone)]
pub struct Token {
    secret: String,
    /// The file that it was read from.
    file: Option<PathBuf>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A token of at least 16 printable characters of ASCII.
    ///
    /// # Errors
    /// It is none.
    pub fn new(token: impl Into<String>) -> Result<Self, String> {
        let token = token.into();
        let is_good = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        if token.len() < MIN_LEN || !token.bytes().all(is_good) {
            return Err(format!(
                "a token has at least {MIN_LEN} characters, all printable ones of ASCII"
            ));
        }
        Ok(Token {
            secret: token,
            file: None,
        })
    }

    /// The token that a file holds; white space around it does not count. A reload of the server reads the file again.
    ///
    /// # Errors
    /// The file cannot be read, holds none or is longer than 4,096 bytes. The message does not name the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
        let read = file.take(MAX_LEN + 1).read_to_string(&mut text);
        if read.map_err(|error| error.to_string())? as u64 > MAX_LEN {
            return Err(format!(
                "the file is longer than {MAX_LEN} bytes, so it is none of a token"
            ));
        }
        let token = Token::new(text.trim())?;
        let file = Some(path.to_owned());
        Ok(Token { file, ..token })
    }

    /// The token that the file holds now; one that is of no file stays as it is.
    ///
    /// # Errors
    /// As for [`Token::read`], with the name of the file.
    pub(crate) fn read_again(&self) -> Result<Self, String> {
        match &self.file {
            None => Ok(self.clone()),
            Some(path) => Self::read(path).map_err(|error| format!("{}: {error}", path.display())),
        }
    }

    /// Whether the head of a request shows the token: `Authorization: Bearer TOKEN`, or, for a page in a browser, as the
    /// password of `Basic`.
    pub(crate) fn is_shown(&self, headers: &HeaderMap, is_page: bool) -> bool {
        let Some(value) = headers.get(AUTHORIZATION) else {
            return false;
        };
        let value = value.as_bytes();
        if let Some(shown) = after(value, b"bearer ") {
            return self.equals(shown);
        }
        match after(value, b"basic ")
            .filter(|_| is_page)
            .and_then(from_base64)
        {
            Some(user) => {
                let colon = user.iter().position(|&byte| byte == b':');
                colon.is_some_and(|colon| self.equals(&user[colon + 1..]))
            }
            None => false,
        }
    }

    fn equals(&self, shown: &[u8]) -> bool {
        self.secret.as_bytes().ct_eq(shown).into()
    }
}

/// What comes after a scheme, whose case does not count.
fn after<'v>(value: &'v [u8], scheme: &[u8]) -> Option<&'v [u8]> {
    let (head, rest) = value.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then(|| rest.trim_ascii())
}

/// Decodes base 64 with or without padding.
fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for &byte in text
        .strip_suffix(b"==")
        .or(text.strip_suffix(b"="))
        .unwrap_or(text)
    {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let token = Token::new("0123456789abcdef:x").unwrap();
        let shows = |value: &str, is_page| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            token.is_shown(&headers, is_page)
        };
        assert!(shows("Bearer 0123456789abcdef:x", false));
        assert!(shows("bearer  0123456789abcdef:x ", false));
        // user:0123456789abcdef:x
        let basic = "Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVmOng=";
        assert!(shows(basic, true) && !shows(basic, false));
        for bad in [
            "Bearer 0123456789abcdef:",
            "Bearer 0123456789abcdef:xy",
            "Bearer",
            "Bearer ",
            "0123456789abcdef:x",
            "Basic !!!",
            "Basic ",
            "Digest 0123456789abcdef:x",
        ] {
            assert!(!shows(bad, true), "{bad}");
        }
        assert!(!token.is_shown(&HeaderMap::new(), true));
    }

    #[test]
    fn a_file_that_is_too_long_is_refused_and_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let read = |len: u64| {
            std::fs::write(&path, "t".repeat(len as usize)).unwrap();
            Token::read(&path)
        };
        let whole = read(MAX_LEN).unwrap();
        assert!(whole.equals("t".repeat(MAX_LEN as usize).as_bytes()));
        assert!(read(MAX_LEN + 1).unwrap_err().contains("4096"));
        // White space around the token counts for the length of the file.
        std::fs::write(&path, format!("{}\n", "t".repeat(16))).unwrap();
        assert!(Token::read(&path).unwrap().equals(b"tttttttttttttttt"));
    }

    #[test]
    fn base_64_is_that_of_the_standard() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg", "foob"),
        ] {
            assert_eq!(from_base64(text.as_bytes()).unwrap(), bytes.as_bytes());
        }
    }
}
