//! The decisions: one intent, one file. Each is a pure function of the state and the command.

mod collect;
mod commit;
mod create;
mod delete;
mod patch;
mod prepare;
mod update;

pub(crate) use collect::{drop_owners, finalize_namespace, release, unblock};
pub(crate) use create::create;
pub(crate) use delete::delete;
pub(crate) use patch::patch;
pub(crate) use update::update;

use crate::{Command, State};

/// What every decision reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) state: &'a State,
    pub(crate) command: &'a Command,
}
