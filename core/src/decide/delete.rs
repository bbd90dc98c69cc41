//! `delete`.

use super::Context;
use crate::command::Delete;
use crate::{Decision, Rejection};

pub(crate) fn delete(_context: Context<'_>, _intent: &Delete) -> Result<Decision, Rejection> {
    Err(Rejection::BadRequest("not built yet".into()))
}
