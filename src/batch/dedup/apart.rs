//! Documents without a fingerprint, and which of them are identical.

/// Documents without a fingerprint, each with a hash that identifies its contents. Twenty bytes for each.
#[derive(Debug, Default)]
pub(super) struct Apart {
    /// The document numbers, ascending.
    documents: Vec<u32>,
    identities: Vec<u128>,
}

impl Apart {
    /// Adds a document, whose number must be larger than all before.
    pub(super) fn push(&mut self, document: u32, identity: u128) {
        self.documents.push(document);
        self.identities.push(identity);
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns the document numbers, ascending.
    pub(super) fn documents(&self) -> &[u32] {
        &self.documents
    }

    /// Returns the document numbers and frees the identities.
    pub(super) fn into_documents(self) -> Vec<u32> {
        self.documents
    }

    /// Calls `visit` with the first document of each content and each repetition of it.
    pub(super) fn for_each_repeated(&self, mut visit: impl FnMut(u32, u32)) {
        let mut order: Vec<u32> = (0..self.documents.len() as u32).collect();
        order.sort_unstable_by_key(|&at| (self.identities[at as usize], at));
        let is_same =
            |a: &u32, b: &u32| self.identities[*a as usize] == self.identities[*b as usize];
        for same in order.chunk_by(is_same) {
            let first = self.documents[same[0] as usize];
            for &at in &same[1..] {
                visit(first, self.documents[at as usize]);
            }
        }
    }
}
