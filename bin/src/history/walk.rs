//! Reads the log forward while it may be thinned.

use hindsight_core::{Commit, Pruned, Revision};
use hindsight_log::{Entry, Error, Reader};

/// The entries from this revision on, oldest first. Where thinning puts the next frame into an earlier one
/// meanwhile, the walk goes on with what is left of it. It fails only if that happens twice at one place.
pub(super) fn entries(
    reader: &Reader,
    from: Revision,
) -> impl Iterator<Item = Result<Entry, Error>> {
    let (mut walk, mut next, mut begun_again) = (reader.entries(from), from, None);
    std::iter::from_fn(move || {
        loop {
            let pruned = match walk.next()? {
                Err(Error::Pruned(pruned)) => pruned,
                read => {
                    next = read.as_ref().map_or(next, |entry| entry.revision().next());
                    return Some(read);
                }
            };
            // Frames in which nothing is left have been passed, too.
            let Pruned { asked, .. } = pruned;
            next = next.max(asked);
            if begun_again.replace(next) == Some(next) {
                return Some(Err(Error::Pruned(pruned)));
            }
            walk = reader.entries(next);
        }
    })
}

/// The commits among them.
pub(super) fn commits(
    reader: &Reader,
    from: Revision,
) -> impl Iterator<Item = Result<Commit, Error>> {
    entries(reader, from).filter_map(|entry| entry.map(Entry::into_commit).transpose())
}
