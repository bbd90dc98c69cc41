//! Maps what was read from the log on all cores, in a pool of the log's own. In rayon's global pool every thread may
//! wait for something that is held by whoever reads the log: then there would be none left for what the reader waits
//! for. Nothing runs in this pool but what is passed here, which takes no lock that others hold meanwhile.

use crate::Error;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

static POOL: OnceLock<ThreadPool> = OnceLock::new();

/// Starts the threads of the pool, if they do not run yet.
pub(crate) fn start_threads() -> Result<(), Error> {
    if POOL.get().is_some() {
        return Ok(());
    }
    let builder = ThreadPoolBuilder::new().thread_name(|index| format!("decode-{index}"));
    let pool = builder.build().map_err(|error| {
        // It has a source if a thread could not be started, which is all that can fail here.
        let source = std::error::Error::source(&error);
        let source = source.and_then(|source| source.downcast_ref::<std::io::Error>());
        let kind = source.map_or(std::io::ErrorKind::Other, std::io::Error::kind);
        let told = source.map_or_else(|| error.to_string(), ToString::to_string);
        Error::io("starting the threads that read the log")(std::io::Error::new(kind, told))
    })?;
    // Somebody else may have been faster: this pool ends then.
    drop(POOL.set(pool));
    Ok(())
}

/// Whether this is a thread of a pool. Such a thread must not wait for other threads: it would run other jobs of its
/// pool meanwhile and might hold a lock that they need, or all threads of its pool might wait in the same way.
pub(crate) fn is_in_pool() -> bool {
    rayon::current_thread_index().is_some()
}

/// Maps each, in order: in the pool, or on the caller's thread if there is only one (it takes longer to wake the
/// threads), if that belongs to a pool, or before the threads are started.
pub(crate) fn map<T: Send, U: Send>(all: Vec<T>, each: impl Fn(T) -> U + Send + Sync) -> Vec<U> {
    match POOL.get() {
        Some(pool) if all.len() > 1 && !is_in_pool() => {
            pool.install(|| all.into_par_iter().map(each).collect())
        }
        Some(_) | None => all.into_iter().map(each).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{Thread, current};

    fn threads(count: usize) -> Vec<Thread> {
        map((0..count).collect(), |_| current())
    }

    fn is_of_the_log(thread: &Thread) -> bool {
        let name = thread.name();
        name.is_some_and(|name| name.starts_with("decode-"))
    }

    #[test]
    fn one_alone_and_somebody_of_a_pool_are_served_by_their_own_thread_and_others_by_the_pool() {
        start_threads().expect("threads");
        start_threads().expect("they run");
        assert!(threads(2).iter().all(is_of_the_log));
        assert_eq!(threads(1)[0].id(), current().id());
        let other = ThreadPoolBuilder::new().num_threads(2).build();
        let (here, ran) = other
            .expect("threads")
            .install(|| (current().id(), threads(2)));
        assert!(ran.iter().all(|one| one.id() == here));
    }

    #[test]
    fn what_is_mapped_keeps_its_order() {
        start_threads().expect("threads");
        let doubled = map((0..1_000).collect(), |one: u32| one * 2);
        assert!(doubled.into_iter().eq((0..1_000).map(|one| one * 2)));
    }
}
