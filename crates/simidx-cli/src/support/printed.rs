//! The fingerprint of a record, and whether it says anything.

use simidx_text::Fingerprinter;
use simidx_text::dedup::content_identity;
use simidx_text::similar::{SignedText, TextSigner};

/// What is known of the content of a record.
pub(crate) struct Printed {
    pub(crate) fingerprint: u128,
    /// Distinct features that count in a document, if they are counted.
    pub(crate) feature_count: Option<u32>,
    /// Of a document without features its identity: the fingerprint then says nothing.
    pub(crate) without_features: Option<u128>,
    /// What similar texts are found by, if that is wanted in place of the fingerprint.
    pub(crate) signed: Option<SignedText>,
}

impl Printed {
    pub(crate) fn of_fingerprint(fingerprint: u128) -> Self {
        Printed {
            fingerprint,
            feature_count: None,
            without_features: None,
            signed: None,
        }
    }

    pub(crate) fn of_text(
        text: &str,
        fingerprinter: &mut Fingerprinter,
        counts_features: bool,
    ) -> Self {
        let (fingerprint, feature_count) = match counts_features {
            true => {
                let (fingerprint, count) = fingerprinter.fingerprint_with_count(text);
                ((count > 0).then_some(fingerprint), Some(count))
            }
            false => (fingerprinter.fingerprint_if_any(text), None),
        };
        Printed {
            fingerprint: fingerprint.unwrap_or(fingerprinter.empty_fingerprint()),
            feature_count,
            without_features: fingerprint.is_none().then(|| content_identity(text)),
            signed: None,
        }
    }

    /// Of a document by what similar texts are found. It gets no fingerprint.
    pub(crate) fn signed(
        text: &str,
        fingerprinter: &mut Fingerprinter,
        signer: &TextSigner,
    ) -> Self {
        let signed = signer.sign(fingerprinter, text);
        Printed {
            fingerprint: 0,
            feature_count: None,
            without_features: (!signed.has_features()).then(|| content_identity(text)),
            signed: Some(signed),
        }
    }
}
