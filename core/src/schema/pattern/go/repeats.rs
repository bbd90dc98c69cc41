//! How often the parts of an expression are repeated: Go allows a thousand times, and no repeat of a repeat.
//! Source: `repeat`, `parseRepeat` and `repeatIsValid` of Go's `regexp/syntax`.

/// The largest count of a repeat, and of all that are inside each other multiplied.
const COUNT_MAX: u32 = 1000;

/// A repeat in braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    min: u32,
    /// `None` if there is no limit.
    max: Option<u32>,
    /// How long its text is behind the `{`, in bytes.
    pub(super) length: usize,
}

impl Count {
    /// Reads what follows a `{`; if it is no count, Go takes the brace literally.
    pub(super) fn read(behind: &str) -> Option<Self> {
        let end = behind.find(|one: char| !one.is_ascii_digit() && one != ',')?;
        let (text, rest) = behind.split_at_checked(end)?;
        if !rest.starts_with('}') {
            return None;
        }
        let number = |digits: &str| {
            let is_one = digits == "0" || !(digits.is_empty() || digits.starts_with('0'));
            let is_one = is_one && !digits.contains(',');
            is_one.then(|| digits.parse().unwrap_or(u32::MAX))
        };
        let (min, max) = match text.split_once(',') {
            Some((min, "")) => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
            None => (number(text)?, Some(number(text)?)),
        };
        let length = text.len() + 1;
        Some(Self { min, max, length })
    }

    fn is_valid(self) -> bool {
        let max = self.max.unwrap_or(self.min);
        (self.min..=COUNT_MAX).contains(&max)
    }
}

/// How often a part of an expression is repeated at most, nested repeats multiplied: in each piece of what has been
/// read so far.
#[derive(Debug, Default)]
pub(super) struct Repeats<'a> {
    /// The open groups, from the outside in.
    around: Vec<u32>,
    /// In the group that is being read.
    most: u32,
    /// In what was read last, which a repeat that follows is about.
    last: u32,
    /// The expression from the repeat that was read last, if nothing came after it.
    behind_repeat: Option<&'a str>,
}

impl<'a> Repeats<'a> {
    /// Anything that can be repeated, and is not a group.
    pub(super) fn single(&mut self) {
        self.put(1);
    }

    pub(super) fn open(&mut self) {
        self.around.push(self.most);
        (self.most, self.last) = (1, 1);
        self.behind_repeat = None;
    }

    pub(super) fn close(&mut self) {
        let inside = self.most;
        self.most = self.around.pop().unwrap_or(1);
        self.put(inside);
    }

    fn put(&mut self, last: u32) {
        self.last = last;
        self.most = self.most.max(last);
        self.behind_repeat = None;
    }

    /// A repeat, with its count if it has one. The expression is given from its beginning, and from its end.
    pub(super) fn repeat(
        &mut self,
        count: Option<Count>,
        from: &'a str,
        after: &str,
    ) -> Result<(), String> {
        let until_here = |from: &'a str| from.get(..from.len() - after.len()).unwrap_or_default();
        if count.is_some_and(|count| !count.is_valid()) {
            return Err(wrong_count(until_here(from)));
        }
        if let Some(before) = self.behind_repeat {
            let both = until_here(before);
            return Err(format!("invalid nested repetition operator: `{both}`"));
        }
        let times = count.map_or(1, |count| count.max.unwrap_or(count.min).max(1));
        // A part that is repeated no times does not matter to those around it.
        let is_none = count.is_some_and(|count| count.max == Some(0));
        let last = if is_none { 1 } else { self.last.max(1) * times };
        if last > COUNT_MAX {
            return Err(wrong_count(until_here(from)));
        }
        self.put(last);
        self.behind_repeat = Some(from);
        Ok(())
    }
}

fn wrong_count(text: &str) -> String {
    format!("invalid repeat count: `{text}`")
}
