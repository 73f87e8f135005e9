//! Columns of numbers and texts that their owners lend: NumPy, Arrow, or Python lists.

use std::fmt;
use std::ops::Deref;

use arrow_array::{LargeStringArray, StringArray, StringViewArray};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use numpy::{Element, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

/// A column of numbers, owned or lent.
pub(crate) enum Column<T> {
    Owned(Vec<T>),
    Lent(Lent<T>),
}

/// Numbers in memory that their owner keeps.
pub(crate) struct Lent<T> {
    start: *const T,
    len: usize,
    _owner: Box<dyn Send + Sync>,
}

#[expect(unsafe_code, reason = "pointers are not sent by themselves")]
// SAFETY: it is a slice of numbers that are only read, and an owner that may be sent.
unsafe impl<T: Send + Sync> Send for Lent<T> {}

#[expect(unsafe_code, reason = "pointers are not shared by themselves")]
// SAFETY: as above; the numbers are only read.
unsafe impl<T: Send + Sync> Sync for Lent<T> {}

impl<T> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Column::Owned(values) => values,
            Column::Lent(lent) if lent.len == 0 => &[],
            #[expect(unsafe_code, reason = "the memory is that of another language")]
            // SAFETY: the two functions that make a `Lent` take start and length from an array in one piece, aligned,
            // of numbers of this size, for which every pattern of bits is a value. The owner, and thus the memory,
            // lives as long as this. `run` returns to the caller, also after Ctrl-C, only when its work no longer reads
            // lent memory: it has ended, or has called `Watch::let_go`. So the caller's later writes are safe. Another
            // Python thread that writes to the array during the call is the caller's fault, as with NumPy's own
            // functions without the GIL; the guide says so.
            Column::Lent(lent) => unsafe { std::slice::from_raw_parts(lent.start, lent.len) },
        }
    }
}

impl<T: Clone> Column<T> {
    /// Returns the numbers, copied if they are lent.
    pub(crate) fn into_owned(self) -> Vec<T> {
        match self {
            Column::Owned(values) => values,
            lent => lent.to_vec(),
        }
    }
}

impl<T> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers", self.len())
    }
}

impl<T: ArrowNativeType> Column<T> {
    /// Creates a column of the numbers of an Arrow array, without a copy.
    pub(crate) fn of_arrow(values: ScalarBuffer<T>) -> Self {
        Column::Lent(Lent {
            start: values.as_ptr(),
            len: values.len(),
            _owner: Box::new(values),
        })
    }
}

impl<T> Column<T> {
    /// Creates a column of the numbers of a NumPy array of `E`, which has the same bits as `T`, without a copy. `None`
    /// if the array has another type or is not contiguous in the order of its rows.
    pub(crate) fn of_numpy<E: Element>(array: &Bound<'_, PyAny>) -> Option<Self> {
        assert_eq!(
            (size_of::<E>(), align_of::<E>()),
            (size_of::<T>(), align_of::<T>())
        );
        let typed = array.cast::<PyArrayDyn<E>>().ok()?;
        let start = typed.data() as *const T;
        (typed.is_c_contiguous() && start.is_aligned()).then(|| {
            Column::Lent(Lent {
                start,
                len: typed.len(),
                _owner: Box::new(array.clone().unbind()),
            })
        })
    }
}

/// A column of texts.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    chunks: Vec<TextChunk>,
}

#[derive(Debug)]
pub(crate) enum TextChunk {
    List(Vec<PyBackedStr>),
    Utf8(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
}

impl From<Vec<PyBackedStr>> for Texts {
    fn from(texts: Vec<PyBackedStr>) -> Self {
        let chunks = vec![TextChunk::List(texts)];
        Texts { chunks }
    }
}

impl Texts {
    pub(crate) fn push(&mut self, chunk: TextChunk) {
        self.chunks.push(chunk);
    }

    /// Returns all texts, at 16 bytes each.
    pub(crate) fn all(&self) -> Vec<&str> {
        let mut all = Vec::new();
        for chunk in &self.chunks {
            match chunk {
                TextChunk::List(texts) => all.extend(texts.iter().map(|text| &**text)),
                TextChunk::Utf8(texts) => all.extend(texts.iter().flatten()),
                TextChunk::Large(texts) => all.extend(texts.iter().flatten()),
                TextChunk::View(texts) => all.extend(texts.iter().flatten()),
            }
        }
        all
    }
}
