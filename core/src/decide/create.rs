//! `create`.

use super::Context;
use crate::command::Create;
use crate::{Decision, Rejection};

pub(crate) fn create(_context: Context<'_>, _intent: &Create) -> Result<Decision, Rejection> {
    Err(Rejection::BadRequest("not built yet".into()))
}
