//! A bounded list of texts about one commit, with the number of those left out. An object may have a hundred
//! thousand members, and as many finalizers and owners as fit into it.

/// The most texts of one sort about one commit.
const TEXTS_MAX: usize = 100;
/// The most bytes of these: room for as many of the longest names that members of maps have.
const TEXTS_BYTES_MAX: usize = 32 << 10;

/// The first texts, and how many were left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BoundedTexts {
    pub(super) texts: Vec<String>,
    pub(super) more: usize,
    counted: usize,
    bytes: usize,
}

impl BoundedTexts {
    /// Adds a text if there is room.
    pub(super) fn push(&mut self, text: String) {
        let bytes = self.bytes + text.len();
        if self.counted == TEXTS_MAX || bytes > TEXTS_BYTES_MAX {
            self.more += 1;
            return;
        }
        self.counted += 1;
        self.bytes = bytes;
        self.texts.push(text);
    }

    /// Adds a text in any case.
    pub(super) fn push_always(&mut self, text: String) {
        self.texts.push(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_told_and_the_others_counted() {
        let mut texts = BoundedTexts::default();
        (0..250).for_each(|at| texts.push(format!("m{at}")));
        texts.push_always("deleted".into());
        assert_eq!((texts.texts.len(), texts.more), (101, 150));
        assert_eq!(texts.texts.first().map(String::as_str), Some("m0"));
        assert_eq!(texts.texts.last().map(String::as_str), Some("deleted"));
    }

    #[test]
    fn names_as_long_as_they_may_be_are_told_and_longer_ones_counted() {
        let mut texts = BoundedTexts::default();
        (0..100).for_each(|_| texts.push(format!("metadata.{}", "x".repeat(253 + 1 + 63))));
        assert_eq!((texts.texts.len(), texts.more), (100, 0));
        let mut texts = BoundedTexts::default();
        for length in [3 << 20, 1, TEXTS_BYTES_MAX] {
            texts.push("x".repeat(length));
        }
        assert_eq!((texts.texts, texts.more), (vec!["x".to_owned()], 2));
    }
}
