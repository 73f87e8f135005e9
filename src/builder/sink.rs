//! Writes the output in its own thread while the next bytes are encoded.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::Result;

/// The size up to which small writes are collected, in bytes.
const BUFFER_LEN: usize = 1 << 18;

/// The most buffers that wait to be written.
const QUEUE_LEN: usize = 4;

/// Takes bytes for the writing thread.
#[derive(Debug)]
pub(crate) struct Sink {
    buffer: Vec<u8>,
    queue: SyncSender<Vec<u8>>,
}

impl Sink {
    /// Appends bytes.
    ///
    /// # Errors
    /// Writing has failed; [`with_writer_thread`] returns the reason.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_LEN {
            self.send_buffer()?;
        }
        Ok(())
    }

    /// Appends bytes, without a copy if they are many.
    ///
    /// # Errors
    /// The errors of [`Sink::write`].
    pub(crate) fn write_owned(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        if bytes.len() < BUFFER_LEN {
            return self.write(&bytes);
        }
        self.send_buffer()?;
        self.send(bytes)
    }

    fn send_buffer(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(BUFFER_LEN));
        self.send(full)
    }

    fn send(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        let sent = self.queue.send(bytes);
        sent.map_err(|_| io::Error::other("the output cannot be written any more"))
    }
}

/// Calls `produce` with a [`Sink`]; a thread writes its bytes to `out` and flushes that at the end.
///
/// # Errors
/// Any error of `out`, or else of `produce`; or an error of the system if it has no thread.
pub(crate) fn with_writer_thread<T>(
    out: impl Write + Send,
    produce: impl FnOnce(&mut Sink) -> Result<T>,
) -> Result<T> {
    std::thread::scope(|scope| {
        let (queue, received) = sync_channel(QUEUE_LEN);
        let thread = std::thread::Builder::new();
        let writer = thread.spawn_scoped(scope, move || write_all(out, &received))?;
        let mut sink = Sink {
            buffer: Vec::with_capacity(BUFFER_LEN),
            queue,
        };
        let produced = produce(&mut sink);
        let produced = produced.and_then(|value| Ok(sink.send_buffer().map(|()| value)?));
        // Dropping the sink ends the thread.
        drop(sink);
        let written = writer.join();
        written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        produced
    })
}

fn write_all(mut out: impl Write, received: &Receiver<Vec<u8>>) -> io::Result<()> {
    while let Ok(bytes) = received.recv() {
        out.write_all(&bytes)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_in_order_in_pieces_of_any_size() {
        let (mut out, mut expected) = (Vec::new(), Vec::new());
        with_writer_thread(&mut out, |sink| {
            for i in 0..200usize {
                let bytes = vec![i as u8; i * i * 20];
                expected.extend_from_slice(&bytes);
                match i % 2 {
                    0 => sink.write(&bytes)?,
                    _ => sink.write_owned(bytes)?,
                }
            }
            Ok(())
        })
        .unwrap();
        assert!(out == expected);
    }

    /// A writer that takes a few bytes and then fails.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            let count = bytes.len().min(self.0);
            self.0 -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_error_is_that_of_the_output() {
        for room in [0, 100, 3 << 20] {
            let result = with_writer_thread(Full(room), |sink| {
                for _ in 0..100 {
                    sink.write(&[0; 100_000])?;
                }
                Ok(())
            });
            let Err(crate::Error::Io(error)) = result else {
                panic!("nothing was too much")
            };
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn an_error_of_the_producer_is_passed_on() {
        let result = with_writer_thread(Vec::new(), |_| -> Result<()> {
            Err(crate::Error::option("none", "no"))
        });
        assert_eq!(result.unwrap_err().to_string(), "no");
    }
}
