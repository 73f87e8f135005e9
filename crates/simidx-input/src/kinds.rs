//! Recognises other kinds of files by their first bytes, for messages to users.

/// Number of bytes at the start of a file that determine its kind.
pub(super) const HEAD: u64 = 512;

/// The offset of the magic bytes of a tar archive.
const TAR_MAGIC: usize = 257;

/// Describes a file that begins with `head`, and gives advice, if it is an archive or an index.
pub(super) fn words(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"PK\x03\x04") {
        return Some("is a zip archive; unpack it first");
    }
    if head.starts_with(&simidx::format::MAGIC) {
        return Some("is an index, not a file of fingerprints or documents");
    }
    let is_tar = head.get(TAR_MAGIC..)?.starts_with(b"ustar");
    is_tar.then_some("is a tar archive; unpack it first")
}
