//! About how many bytes a kind takes in memory: it is made anew with each change of its definition.

use super::{Kind, PrinterColumn, Version};
use crate::memory::{allocated, texts};

/// How many texts and lists a kind or a version has beside those that are counted.
const OTHERS: usize = 8;

impl Kind {
    pub(super) fn estimated_bytes(&self) -> usize {
        let versions: usize = self.versions.iter().map(|one| one.estimated_bytes()).sum();
        allocated(size_of::<Self>())
            + OTHERS * allocated(0)
            + texts(&self.short_names)
            + texts(&self.categories)
            + versions
    }
}

impl Version {
    fn estimated_bytes(&self) -> usize {
        let columns: usize = self
            .columns
            .iter()
            .map(PrinterColumn::estimated_bytes)
            .sum();
        allocated(size_of::<Self>())
            + OTHERS * allocated(0)
            + columns
            + texts(&self.selectable_fields)
    }
}

impl PrinterColumn {
    fn estimated_bytes(&self) -> usize {
        let texts = [
            &self.name,
            &self.type_name,
            &self.format,
            &self.description,
            &self.json_path,
        ];
        size_of::<Self>()
            + texts
                .map(|text| allocated(text.len()))
                .iter()
                .sum::<usize>()
    }
}
