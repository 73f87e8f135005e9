//! Ids with a key before them that orders records: by position, or by length and position. An index gives ids in order,
//! so that the record with the smallest key comes first.

use simidx::format::MAX_ID_LEN;
use simidx::{Fingerprint, Id, IdKind};

use crate::support::records::{Fingerprinted, Refusal, number_id, string_id};

/// Digits of the key: eight of the length, sixteen of the position.
const KEY_LEN: usize = 24;

/// The id of a record behind its key. With `by_length` the longest document comes first.
///
/// # Errors
/// A record without an id of this kind, or with one that is too long to have a key before it.
pub(super) fn keyed<F>(
    record: Fingerprinted<F>,
    kind: IdKind,
    by_length: bool,
) -> Result<String, Refusal> {
    let length = if by_length { record.text_len } else { 0 };
    // Documents are far shorter than 2^32 bytes.
    let shortness = u32::MAX - u32::try_from(length).unwrap_or(u32::MAX);
    let position = record.position;
    let id = match kind {
        IdKind::Number => number_id(&record)?.to_string(),
        _ => string_id(record)?,
    };
    if id.len() + KEY_LEN > MAX_ID_LEN {
        let message = format!(
            "id is {} bytes long, the limit is {} for clusters of records",
            id.len(),
            MAX_ID_LEN - KEY_LEN
        );
        return Err(Refusal::record(message));
    }
    Ok(format!("{shortness:08x}{position:016x}{id}"))
}

/// The id behind the key.
pub(super) fn unkeyed(id: Id<'_>, kind: IdKind) -> Id<'_> {
    let Id::String(text) = id else {
        return id;
    };
    let text = text.get(KEY_LEN..).unwrap_or_default();
    match kind {
        IdKind::Number => Id::Number(u64::parse_dec(text).unwrap_or_default()),
        _ => Id::String(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simidx_input::RecordId;

    fn record(position: u64, text_len: u64, id: &str) -> Fingerprinted<u64> {
        Fingerprinted {
            fingerprint: 0,
            id: Some(RecordId::Text(id.to_owned())),
            position,
            is_document: true,
            text_len,
            feature_count: None,
        }
    }

    #[test]
    fn keys_order_records_and_leave_the_ids() {
        let keyed = |position, len, by_length| {
            keyed(record(position, len, "7"), IdKind::String, by_length).unwrap()
        };
        assert!(keyed(9, 1, false) < keyed(10, 5, false));
        assert!(keyed(10, 5, true) < keyed(9, 1, true));
        assert!(keyed(9, 5, true) < keyed(10, 5, true));
        let key = keyed(u64::MAX, u64::MAX, true);
        assert_eq!(unkeyed(Id::String(&key), IdKind::String), Id::String("7"));
        assert_eq!(unkeyed(Id::String(&key), IdKind::Number), Id::Number(7));
    }

    #[test]
    fn ids_without_room_for_a_key_are_refused() {
        let id = "x".repeat(MAX_ID_LEN - KEY_LEN);
        assert!(keyed(record(1, 1, &id), IdKind::String, false).is_ok());
        assert!(keyed(record(1, 1, &(id + "x")), IdKind::String, false).is_err());
    }
}
