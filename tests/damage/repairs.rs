//! The repairs that fuzzing relies on: they correct what they should, and nothing else.

use simidx::Fingerprint;

use super::samples::samples;
use simidx_testkit::editor::Editor;
use simidx_testkit::encoding::{LINE_PAGES, Layout};
use simidx_testkit::repair::repair;

fn check_repairs<F: Fingerprint>() {
    for sample in samples::<F>() {
        assert!(repair(&sample.file) == sample.file, "{}", sample.name);
        let mut file = sample.file.clone();
        let footer = file.len() - 40;
        for at in [
            0,
            13,
            footer + 13,
            footer + 17,
            footer + 25,
            footer + 33,
            footer + 38,
        ] {
            file[at] ^= 0x55;
        }
        // The checksum of the first block, or of the page of lines.
        let layout = Layout::parse(&sample.file);
        let lines = layout.find_section(LINE_PAGES, 0);
        file[lines.map_or(128, |lines| lines.offset + lines.len - 1)] ^= 1;
        assert!(repair(&file) == sample.file, "{}", sample.name);
        // A directory that is not where the footer says, but that far from the end.
        let directory_at = Editor::new(sample.file.clone()).layout.directory_at;
        file.insert(directory_at, 7);
        assert!(repair(&file) == sample.file, "{}", sample.name);
    }
}

#[test]
fn repairs_make_a_good_file_of_one_with_wrong_checksums() {
    check_repairs::<u32>();
    check_repairs::<u64>();
    check_repairs::<u128>();
}
