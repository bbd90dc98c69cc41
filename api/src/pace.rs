//! The pace of a long walk: others are answered in between, however much there is to go through.

/// Read in one go at most: some milliseconds of decoding.
pub(crate) const READ_BYTES: usize = 256 << 10;
/// What looking at an object costs even where its body is not read, and each thing that is asked of it.
pub(crate) const LOOK_BYTES: usize = 64;

/// How much was read since others had their turn.
#[derive(Debug, Default)]
pub(crate) struct Pace(usize);

impl Pace {
    /// An object was looked at, and so much of it was read, or asked.
    pub(crate) async fn read(&mut self, bytes: usize) {
        self.0 += LOOK_BYTES + bytes;
        if self.0 >= READ_BYTES {
            self.0 = 0;
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests;
