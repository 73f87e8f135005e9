//! Authentication: a token in the head of each request.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode::Indifferent;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

/// Smallest number of characters in a token. Shorter tokens can be guessed.
const MIN_LEN: usize = 16;

/// Largest size of a token file in bytes.
const MAX_LEN: u64 = 4096;

/// Base 64 with or without padding.
const BASE64: GeneralPurpose = {
    let config = GeneralPurposeConfig::new();
    GeneralPurpose::new(&STANDARD, config.with_decode_padding_mode(Indifferent))
};

/// The secret that authenticates requests. It is compared in constant time and never appears in messages.
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
    /// The file that the token was read from.
    file: Option<PathBuf>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Creates a token.
    ///
    /// # Errors
    /// The token has fewer than 16 characters, or characters other than printable ASCII.
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

    /// Reads the token in a file, without the white space around it. A reload of the server reads the file again.
    ///
    /// # Errors
    /// The file cannot be read, contains an invalid token or is longer than 4,096 bytes. The message does not name the
    /// file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
        let read = file.take(MAX_LEN + 1).read_to_string(&mut text);
        if read.map_err(|error| error.to_string())? as u64 > MAX_LEN {
            return Err(format!(
                "the file of a token is longer than {MAX_LEN} bytes"
            ));
        }
        let token = Token::new(text.trim())?;
        let file = Some(path.to_owned());
        Ok(Token { file, ..token })
    }

    /// Reads the file of the token again. A token without a file is returned unchanged.
    ///
    /// # Errors
    /// The errors of [`Token::read`], with the name of the file.
    pub(crate) fn read_again(&self) -> Result<Self, String> {
        match &self.file {
            None => Ok(self.clone()),
            Some(path) => Self::read(path).map_err(|error| format!("{}: {error}", path.display())),
        }
    }

    /// Whether a request contains the token: as `Authorization: Bearer TOKEN` or, for the page in a browser, as the
    /// password of `Basic`.
    pub(crate) fn is_shown(&self, headers: &HeaderMap, is_page: bool) -> bool {
        let Some(value) = headers.get(AUTHORIZATION) else {
            return false;
        };
        let value = value.as_bytes();
        if let Some(shown) = after(value, b"bearer ") {
            return self.equals(shown);
        }
        let user = after(value, b"basic ").filter(|_| is_page);
        let user = user.and_then(|user| BASE64.decode(user).ok());
        let colon = |user: &Vec<u8>| user.iter().position(|&byte| byte == b':');
        user.is_some_and(|user| colon(&user).is_some_and(|at| self.equals(&user[at + 1..])))
    }

    fn equals(&self, shown: &[u8]) -> bool {
        self.secret.as_bytes().ct_eq(shown).into()
    }
}

/// Returns the credentials after an authentication scheme, whose name is case-insensitive.
fn after<'v>(value: &'v [u8], scheme: &[u8]) -> Option<&'v [u8]> {
    let (head, rest) = value.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then(|| rest.trim_ascii())
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
        assert!(shows(basic.trim_end_matches('='), true));
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
        // White space around the token counts towards the length of the file.
        std::fs::write(&path, format!("{}\n", "t".repeat(16))).unwrap();
        assert!(Token::read(&path).unwrap().equals(b"tttttttttttttttt"));
    }
}
