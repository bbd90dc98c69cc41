//! How many characters are looked up to read a pattern that does not tell upper and lower case apart: all of each of
//! its classes, one by one, so that some letters of a pattern take milliseconds.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{self, Ast, ClassSetItem, ClassSetRange, Flag, Flags, GroupKind, Visitor};
use std::convert::Infallible;

/// How many characters there are.
pub(super) const ALL: u64 = 0x0011_0000;
/// A class inside of brackets is looked up by itself, and with all that they hold.
const TIMES: u64 = 2;

/// The most characters that are looked up for a pattern in Rust's syntax; none for one that cannot be read.
pub(super) fn looked_up(pattern: &str) -> u64 {
    let parsed = Parser::new().parse(pattern);
    parsed.map_or(0, |ast| {
        let Ok(found) = ast::visit(&ast, Found::default());
        found
    })
}

#[derive(Default)]
struct Found {
    ignores_case: bool,
    characters: u64,
}

impl Found {
    fn flags(&mut self, flags: &Flags) {
        self.ignores_case |= flags.flag_state(Flag::CaseInsensitive) == Some(true);
    }

    fn add(&mut self, characters: u64) {
        self.characters = self.characters.saturating_add(TIMES * characters);
    }
}

impl Visitor for Found {
    type Output = u64;
    type Err = Infallible;

    /// The flag may be anywhere, and holds for some of the classes.
    fn finish(self) -> Result<u64, Infallible> {
        Ok(if self.ignores_case {
            self.characters
        } else {
            0
        })
    }

    fn visit_pre(&mut self, one: &Ast) -> Result<(), Infallible> {
        if let Ast::Flags(set) = one {
            self.flags(&set.flags);
        } else if let Ast::Group(group) = one
            && let GroupKind::NonCapturing(flags) = &group.kind
        {
            self.flags(flags);
        } else if let Ast::ClassUnicode(_) = one {
            self.add(ALL / TIMES);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, one: &ClassSetItem) -> Result<(), Infallible> {
        if let ClassSetItem::Range(range) = one {
            self.add(width(range));
        } else if let ClassSetItem::Unicode(_) = one {
            self.add(ALL);
        } else if let ClassSetItem::Bracketed(class) = one
            && class.negated
        {
            // What is not in it is in the class around it.
            self.add(ALL / TIMES);
        }
        Ok(())
    }
}

fn width(range: &ClassSetRange) -> u64 {
    let [start, end] = [&range.start, &range.end].map(|literal| u64::from(u32::from(literal.c)));
    end.saturating_sub(start) + 1
}
