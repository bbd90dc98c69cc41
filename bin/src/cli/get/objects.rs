//! Where objects are read from: the state that a directory folds to, or lists of a server, in pieces.

use super::page;
use crate::answer::OwnerAnswer;
use crate::cli::Directory;
use crate::cli::ask::{Source, newest_state, state_of};
use crate::cli::point::Point;
use crate::cli::query::{Query, encode};
use crate::inspect::{self, Owner, Served};
use crate::remote::Client;
use anyhow::Result;
use hindsight_core::{Revision, State};
use serde_json::Value;
use std::fmt::Write;

/// The most objects in one piece: 300 MiB if all are of the largest size.
const PIECE_OBJECTS: usize = 100;
/// The most names and revisions in one piece.
const PIECE_NAMES: usize = 1_000;
const OBJECTS: &str = "application/json";
const NAMES: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// Which objects are asked for.
pub(super) struct Wanted {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    /// `None` for all namespaces.
    pub(super) namespace: Option<String>,
}

/// The objects that existed at one point.
pub(super) enum Objects {
    /// Of a directory, which has been given back.
    States {
        then: Box<State>,
        /// `None` if that is the same, or nobody asks what exists now.
        now: Option<Box<State>>,
    },
    /// Of a server, which is asked for them.
    Lists {
        client: Client,
        as_of: Option<String>,
    },
}

impl Objects {
    /// A directory is given back before this returns: who reads the output may ask about the same directory,
    /// and reads no further until that is answered.
    pub(super) fn open(
        directory: &Directory,
        as_of: Option<&Point>,
        with_owners: bool,
    ) -> Result<Self> {
        let source = directory.source()?;
        Ok(match &source {
            Source::Directory { reader, .. } => {
                let then = Box::new(state_of(reader, as_of)?);
                source.hint_at_gap(as_of.map(|point| point.at), then.revision);
                let is_asked = with_owners && as_of.is_some();
                let now = is_asked.then(|| newest_state(reader).map(Box::new));
                let now = now.transpose()?;
                Self::States { then, now }
            }
            Source::Server(client) => Self::Lists {
                client: client.clone(),
                as_of: as_of.map(|point| point.text.clone()),
            },
        })
    }

    /// Tells whether the point that was asked for lies before a restore and after what was answered. Of a
    /// directory, this was told when it was opened.
    pub(super) fn hint_at_gap(&self, as_of: Option<&Point>, answered: Revision) {
        if let Self::Lists { client, .. } = self {
            let source = Source::Server(client.clone());
            source.hint_at_gap(as_of.map(|point| point.at), answered);
        }
    }

    /// How the kind was served at that point.
    pub(super) fn served(&self, kind: &str) -> Result<Served> {
        match self {
            Self::States { then, .. } => Ok(inspect::served(then, kind)?),
            Self::Lists { client, as_of } => {
                let question = Query::named("kind").with("kind", kind);
                client.ask(question.with_point(as_of.as_deref()).path())
            }
        }
    }

    /// Passes on each object that is wanted, or at least its metadata; returns the revision of the list.
    pub(super) fn each(
        &self,
        served: &Served,
        wanted: &Wanted,
        metadata: bool,
        take: &mut dyn FnMut(Value) -> Result<()>,
    ) -> Result<String> {
        match self {
            Self::States { then, .. } => {
                let namespace = wanted.namespace.as_deref().filter(|_| served.namespaced);
                let named = |name: &str| wanted.name.as_deref().is_none_or(|wanted| wanted == name);
                let form = served.form(then);
                for object in then.list(&served.stored_under(), namespace) {
                    if named(&object.key.name) {
                        let read = form.as_ref().map(|form| form.document(object));
                        take(read.unwrap_or_else(|| object.document()))?;
                    }
                }
                Ok(then.revision.to_string())
            }
            Self::Lists { client, as_of } => {
                let list = list(as_of.as_deref(), served, wanted);
                pieces(client, &list, metadata, take)
            }
        }
    }

    /// Whether an owner exists now, and stays, with the UID that the reference names. Of a directory, this must have been
    /// announced when it was opened.
    pub(super) fn find_owner(&self, owner: &Owner) -> Result<OwnerAnswer> {
        match self {
            Self::States { then, now } => {
                Ok(inspect::find_owner(now.as_ref().unwrap_or(then), owner))
            }
            Self::Lists { client, .. } => {
                let question = Query::named("owner")
                    .with("apiVersion", &owner.api_version)
                    .with("kind", &owner.kind)
                    .with("namespace", &owner.namespace)
                    .with("name", &owner.name)
                    .with("uid", &owner.uid);
                client.ask(question.path())
            }
        }
    }
}

/// The list of them that any client would ask for.
fn list(as_of: Option<&str>, served: &Served, wanted: &Wanted) -> Query {
    let mut path = as_of.map_or_else(String::new, |point| format!("/as-of/{}", encode(point)));
    path.push_str(&served.path());
    if let Some(namespace) = wanted.namespace.as_deref().filter(|_| served.namespaced) {
        write!(path, "/namespaces/{}", encode(namespace)).ok();
    }
    write!(path, "/{}", served.resource).ok();
    let selector = wanted.name.as_ref().map(|name| {
        let escaped = name
            .replace('\\', "\\\\")
            .replace(',', "\\,")
            .replace('=', "\\=");
        format!("metadata.name={escaped}")
    });
    Query::at(path).with_any("fieldSelector", selector.as_deref())
}

fn pieces(
    client: &Client,
    list: &Query,
    metadata: bool,
    take: &mut dyn FnMut(Value) -> Result<()>,
) -> Result<String> {
    let (limit, form) = if metadata {
        (PIECE_NAMES, NAMES)
    } else {
        (PIECE_OBJECTS, OBJECTS)
    };
    let (limit, mut next) = (limit.to_string(), String::new());
    loop {
        let question = list.clone().with("limit", &limit).with("continue", &next);
        let piece = page::read(&client.fetch(question.path(), form)?, take)?;
        match piece.next {
            Some(token) => next = token,
            None => return Ok(piece.revision),
        }
    }
}
