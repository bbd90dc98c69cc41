//! The pace of a long walk over objects: it yields to other tasks in between, however many objects there are.

/// The most that is read before yielding: some milliseconds of decoding.
pub(crate) const READ_BYTES: usize = 256 << 10;
/// The cost of looking at an object even where its body is not read, and of each requirement that it is matched
/// against.
pub(crate) const LOOK_BYTES: usize = 64;

/// How much was read since the last yield.
#[derive(Debug, Default)]
pub(crate) struct Pace(usize);

impl Pace {
    /// Accounts for an object that was looked at, and for what was read or compared of it; yields when it is
    /// time.
    pub(crate) async fn read(&mut self, bytes: usize) {
        self.0 += LOOK_BYTES + bytes;
        if self.0 >= READ_BYTES {
            self.0 = 0;
            tokio::task::yield_now().await;
        }
    }

    /// Counts what is left, which is passed but not read.
    pub(crate) async fn count(&mut self, rest: impl Iterator) -> usize {
        let mut count = 0;
        for _ in rest {
            count += 1;
            self.read(0).await;
        }
        count
    }
}

#[cfg(test)]
mod tests;
