//! Tells of certificates that have ended or soon will, which those that were made elsewhere may.

use super::super::client_certificate::end_of;
use super::{AUTHORITY, YEARS};
use crate::effects;
use chrono::{DateTime, Datelike, TimeDelta, Utc};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::path::Path;

/// So long before a certificate ends, each start tells of it.
const NOTICE: TimeDelta = TimeDelta::days(30);
const AUTHORITY_ADVICE: &str = "replace it by one that is issued anew with the same key, and in kubeconfigs too, of \
    which each start writes only the administrator's; or move the directory pki aside: a new authority is created at \
    the next start, and kubeconfigs issued before then stop working";
const ADMIN_ADVICE: &str =
    "move admin.crt and admin.key aside: both are created again at the next start";

/// Tells of the authority's certificate and of the administrator's. A start is not refused: not every client looks at
/// the end of an authority, and the clock may be wrong.
pub(super) fn tell_ends(directory: &Path, authority: &str, admin: &str) {
    for (name, pem, who, advice) in [
        (
            AUTHORITY,
            authority,
            "kubectl and most other clients refuse to connect",
            AUTHORITY_ADVICE,
        ),
        (
            "admin.crt",
            admin,
            "the administrator is refused",
            ADMIN_ADVICE,
        ),
    ] {
        let now = DateTime::from_timestamp_micros(effects::now().0);
        let Some((ends, now)) = end(pem).zip(now) else {
            continue;
        };
        let path = directory.join(name);
        let path = path.display();
        if ends <= now {
            tracing::error!("{path} has expired on {ends}, so that {who}; {advice}");
        } else if ends - now <= NOTICE {
            tracing::warn!("{path} expires on {ends}; from then on {who}; {advice}");
        }
    }
}

/// When a certificate ends that was made elsewhere. If one of ours has ended, the clock is wrong, which is told.
fn end(pem: &str) -> Option<DateTime<Utc>> {
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let seconds = end_of(&certificate)?.as_secs().try_into().ok()?;
    DateTime::from_timestamp(seconds, 0).filter(|ends| ends.year() < YEARS.end)
}
