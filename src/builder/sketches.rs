//! Keeps the sketches of the records in order while the tables are written, then writes them (spec, section 10.4).

use std::io;

use super::sections::SectionWriter;
use crate::extsort::{Spool, TempSpace};
use crate::format::{Kind, SketchParameters};

/// Sketches in the order of the file.
#[derive(Debug)]
pub(super) struct SketchSpool {
    parameters: SketchParameters,
    sketches: Spool,
}

impl SketchSpool {
    /// Creates an empty spool.
    pub(super) fn new(parameters: SketchParameters, temp: &TempSpace) -> Self {
        SketchSpool {
            parameters,
            sketches: temp.spool(),
        }
    }

    /// Appends a sketch, whose length must match the parameters.
    pub(super) fn push(&mut self, sketch: &[u8]) -> io::Result<()> {
        self.sketches.write(sketch)
    }

    /// Writes the section.
    pub(super) fn write(
        mut self,
        file: &mut SectionWriter<'_>,
        temp: &TempSpace,
    ) -> io::Result<()> {
        let len = self.parameters.sketch_len();
        let count = self.sketches.len() / len as u64;
        let mut section = file.begin_paged(Kind::SKETCHES, 0, 0, temp)?;
        section.write_head(&self.parameters.encode(count))?;
        self.sketches
            .read(len, |sketches| section.write(sketches))?;
        section.end()
    }
}
