//! The collector's own intents: each checks the plan again before it is carried out.

use super::Context;
use crate::command::{DropOwners, FinalizeNamespace, Release, Target};
use crate::{Decision, Rejection};

pub(crate) fn drop_owners(
    _context: Context<'_>,
    _intent: &DropOwners,
) -> Result<Decision, Rejection> {
    Err(Rejection::BadRequest("not built yet".into()))
}

pub(crate) fn unblock(_context: Context<'_>, _intent: &Target) -> Result<Decision, Rejection> {
    Err(Rejection::BadRequest("not built yet".into()))
}

pub(crate) fn release(_context: Context<'_>, _intent: &Release) -> Result<Decision, Rejection> {
    Err(Rejection::BadRequest("not built yet".into()))
}

pub(crate) fn finalize_namespace(
    _context: Context<'_>,
    _intent: &FinalizeNamespace,
) -> Result<Decision, Rejection> {
    Err(Rejection::BadRequest("not built yet".into()))
}
