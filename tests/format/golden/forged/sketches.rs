//! Broken rules of the section of sketches.

use super::*;
use simidx_testkit::encoding::SKETCHES;
use simidx_testkit::sketches::SketchSection;

const SKETCHED: &str = "sketches-numbers";

/// A change of the section, after which its checksums are right.
fn section(parts: &mut Parts, change: impl FnOnce(&mut SketchSection)) {
    let bytes = parts.section(SKETCHES, 0);
    let mut section = SketchSection::parse(bytes);
    change(&mut section);
    *bytes = section.bytes();
}

#[rustfmt::skip]
pub(super) fn sketches() -> Vec<Forgery> {
    vec![
        parts(28, "page-of-sketches", Verify, "sketches-on-two-pages", "a bit of the second page of the sketches flipped, and the checksum of the section made right", |parts| {
            let bytes = parts.section(SKETCHES, 0);
            let last = bytes.len() - 9;
            bytes[last] ^= 1;
        }),
        parts(28, "exchanged-pages-of-sketches", Verify, "sketches-on-two-pages", "the checksums of the pages of the sketches exchanged", |parts| {
            let bytes = parts.section(SKETCHES, 0);
            let at = bytes.len() - 8;
            bytes[at..].rotate_left(4);
        }),
        edit(40, "sketches", Verify, "sketches-of-another-method", "the last bit of sketches of another method flipped", |e| {
            let section = e.section(SKETCHES, 0);
            e.flip(section.offset + section.len - 1, 1);
        }),
        parts(43, "two-sections", Verify, SKETCHED, "the section of sketches is there twice", |parts| {
            let bytes = parts.section(SKETCHES, 0).clone();
            parts.add(SKETCHES, bytes);
        }),
        parts(43, "no-bytes", Verify, SKETCHED, "a section of sketches without bytes", |parts| {
            parts.section(SKETCHES, 0).clear();
        }),
        parts(43, "cut-head", Verify, SKETCHED, "a section of sketches that ends within its head", |parts| {
            parts.section(SKETCHES, 0).truncate(63);
        }),
        parts(43, "head-checksum", Verify, SKETCHED, "a bit of the head checksum of the sketches flipped", |parts| {
            parts.section(SKETCHES, 0)[0] ^= 1;
        }),
        parts(43, "head-checksum-of-another-method", Verify, "sketches-of-another-method", "a bit of the head checksum of sketches of another method flipped", |parts| {
            parts.section(SKETCHES, 0)[3] ^= 0x80;
        }),
        parts(43, "no-bits", Verify, SKETCHED, "sketches of 0 bits", |parts| section(parts, |s| {
            s.bits = 0;
            s.payload.clear();
        })),
        parts(43, "32-bits", Verify, SKETCHED, "sketches of 32 bits", |parts| section(parts, |s| {
            s.bits = 32;
            s.payload.truncate(80);
        })),
        parts(43, "576-bits", Verify, SKETCHED, "sketches of 576 bits", |parts| section(parts, |s| {
            s.bits = 576;
            s.payload.resize(20 * 72, 0);
        })),
        parts(43, "more-bits", Verify, SKETCHED, "the sketches have 64 bits and the head says 128", |parts| section(parts, |s| s.bits = 128)),
        parts(43, "no-features", Verify, SKETCHED, "features without a name", |parts| section(parts, |s| {
            s.features.clear();
            s.padding = vec![0; 46];
        })),
        parts(43, "long-features", Verify, SKETCHED, "features named in 1,025 bytes", |parts| section(parts, |s| {
            s.features = vec![b'f'; 1025];
            s.padding = vec![0; 1088 - 18 - 1025];
        })),
        parts(43, "surrogate", Verify, SKETCHED, "a surrogate in the name of the features", |parts| section(parts, |s| s.features[..3].copy_from_slice(SURROGATE))),
        parts(43, "overlong", Verify, SKETCHED, "an overlong character in the name of the features", |parts| section(parts, |s| s.features[..2].copy_from_slice(OVERLONG))),
        parts(43, "padding", Verify, SKETCHED, "the last byte of the head of the sketches is 1", |parts| section(parts, |s| *s.padding.last_mut().unwrap() = 1)),
        parts(43, "one-sketch-less", Verify, SKETCHED, "19 sketches of 20 records", |parts| section(parts, |s| {
            s.count = 19;
            s.payload.truncate(19 * 8);
        })),
        parts(43, "one-sketch-more", Verify, SKETCHED, "21 sketches of 20 records", |parts| section(parts, |s| {
            s.count = 21;
            s.payload.resize(21 * 8, 0);
        })),
        parts(43, "of-fingerprints", Verify, "sketches-strings", "10 sketches of 10 fingerprints, whose records are 20", |parts| section(parts, |s| {
            s.count = 10;
            s.payload.truncate(10 * 24);
        })),
        parts(43, "other-count", Verify, SKETCHED, "the head says 21, and 20 sketches are there", |parts| section(parts, |s| s.count = 21)),
        parts(43, "great-count", Verify, SKETCHED, "the head says 2^61 + 20 sketches, whose bytes pass 2^64", |parts| section(parts, |s| s.count = (1 << 61) + 20)),
        parts(43, "one-byte-more", Verify, SKETCHED, "a byte after the page checksums of the sketches", |parts| parts.section(SKETCHES, 0).push(0)),
        parts(43, "one-byte-less", Verify, SKETCHED, "the last byte of the page checksums of the sketches is missing", |parts| {
            parts.section(SKETCHES, 0).pop();
        }),
    ]
}
