//! Documents without a fingerprint: which they are, and which of them are the same.

/// The documents that are near to nothing, with what tells their contents apart. Twenty bytes each.
#[derive(Debug, Default)]
pub(super) struct Apart {
    /// Their numbers, ascending.
    documents: Vec<u32>,
    identities: Vec<u128>,
}

impl Apart {
    /// Adds a document, whose number is the largest so far.
    pub(super) fn push(&mut self, document: u32, identity: u128) {
        self.documents.push(document);
        self.identities.push(identity);
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// The numbers of the documents, ascending.
    pub(super) fn documents(&self) -> &[u32] {
        &self.documents
    }

    /// The same, for when their contents no longer matter.
    pub(super) fn into_documents(self) -> Vec<u32> {
        self.documents
    }

    /// Calls `visit` with the first of some documents of the same content and each of the others.
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

/// Whether a number is among ascending ones.
pub(super) fn contains(documents: &[u32], document: usize) -> bool {
    let number = u32::try_from(document);
    !documents.is_empty() && number.is_ok_and(|number| documents.binary_search(&number).is_ok())
}
