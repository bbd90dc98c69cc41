//! `patch`.

use super::Context;
use crate::command::PatchObject;
use crate::{Decision, Rejection};

pub(crate) fn patch(_context: Context<'_>, _intent: &PatchObject) -> Result<Decision, Rejection> {
    Err(Rejection::BadRequest("not built yet".into()))
}
