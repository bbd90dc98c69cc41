//! `update`.

use super::Context;
use crate::command::Update;
use crate::{Decision, Rejection};

pub(crate) fn update(_context: Context<'_>, _intent: &Update) -> Result<Decision, Rejection> {
    Err(Rejection::BadRequest("not built yet".into()))
}
