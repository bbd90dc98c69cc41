//! The path to a place in a document. It is formatted only if there is something to report.

use std::fmt;

/// A place in a document, linked to the place that contains it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The document itself.
    Root,
    /// A member of an object: `.name`.
    Member(&'a Self, &'a str),
    /// An item of a list: `[0]`.
    Item(&'a Self, usize),
    /// An entry of a map: `[key]`.
    Entry(&'a Self, &'a str),
}

impl<'a> Path<'a> {
    pub(crate) const fn member(&'a self, name: &'a str) -> Self {
        Self::Member(self, name)
    }

    pub(crate) const fn item(&'a self, index: usize) -> Self {
        Self::Item(self, index)
    }

    pub(crate) const fn entry(&'a self, key: &'a str) -> Self {
        Self::Entry(self, key)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, name) => formatter.write_str(name),
            Self::Member(parent, name) => write!(formatter, "{parent}.{name}"),
            Self::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
            Self::Entry(parent, key) => write!(formatter, "{parent}[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_kubernetes_writes_them() {
        let root = Path::Root;
        let spec = root.member("spec");
        let list = spec.member("list");
        let item = list.item(2);
        assert_eq!(item.member("a").to_string(), "spec.list[2].a");
        assert_eq!(spec.entry("k").to_string(), "spec[k]");
        assert_eq!(root.to_string(), "");
    }
}
