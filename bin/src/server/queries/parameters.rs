//! Which questions there are, and the parameters that each takes.

use crate::inspect::{Filter, ObjectQuery, Owner};
use hindsight_api::{AsOf, percent_decode};
use hindsight_core::Revision;
use hindsight_core::command::Propagation;
use std::collections::BTreeMap;

const REVISION: &str = "a revision, such as 42";
const POINT: &str = "a revision, such as 42, or an RFC 3339 time, such as 2026-01-31T12:00:00Z";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Log,
    Why,
    Plan,
    State,
    Kind,
    Owner,
}

impl Question {
    pub(super) const ALL: [Self; 6] = [
        Self::Log,
        Self::Why,
        Self::Plan,
        Self::State,
        Self::Kind,
        Self::Owner,
    ];

    /// The question at this path, behind the prefix that all have.
    pub(super) fn named(path: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|question| question.name() == path)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Why => "why",
            Self::Plan => "plan",
            Self::State => "state",
            Self::Kind => "kind",
            Self::Owner => "owner",
        }
    }

    /// The names of its parameters.
    const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Log => &[
                "kind",
                "namespace",
                "name",
                "uid",
                "user",
                "verb",
                "since",
                "until",
                "from",
            ],
            Self::Why => &["kind", "namespace", "name", "uid"],
            Self::Plan => &[
                "kind",
                "namespace",
                "name",
                "uid",
                "propagationPolicy",
                "asOf",
            ],
            Self::State => &["asOf"],
            Self::Kind => &["kind", "asOf"],
            Self::Owner => &["apiVersion", "kind", "namespace", "name", "uid", "asOf"],
        }
    }

    /// The names of the parameters that it cannot do without.
    const fn required(self) -> &'static [&'static str] {
        match self {
            Self::Why | Self::Plan => &["kind", "name"],
            Self::Kind => &["kind"],
            Self::Log | Self::State | Self::Owner => &[],
        }
    }

    /// Refuses an empty value: it would narrow nothing, match nothing, or mean the newest state, and nobody means
    /// that.
    fn refuse_empty(self, texts: &BTreeMap<String, String>) -> Result<(), String> {
        // An owner's namespace may be empty.
        if self == Self::Owner {
            return Ok(());
        }
        match texts.iter().find(|(_, value)| value.is_empty()) {
            Some((name, _)) if self.required().contains(&name.as_str()) => {
                Err(format!("the {name} is empty; give one"))
            }
            Some((name, _)) => Err(format!("{name} is empty; give a value, or leave it out")),
            None => Ok(()),
        }
    }

    fn refuse_unknown(self, texts: &BTreeMap<String, String>) -> Result<(), String> {
        let taken = self.parameters();
        let is_unknown = |name: &&String| !taken.contains(&name.as_str());
        match texts.keys().find(is_unknown).map(String::as_str) {
            Some("asOf") if self == Self::Log => Err("log does not take asOf; use until".into()),
            Some(name) => {
                let (question, taken) = (self.name(), taken.join(", "));
                Err(format!(
                    "{question} does not take {name:?}; it takes {taken}"
                ))
            }
            None => Ok(()),
        }
    }
}

/// A question with its parameters. An empty one is refused, but counts as absent where an owner is looked for.
#[derive(Debug)]
pub(super) enum Asked {
    Log {
        filter: Filter,
        /// Where the page begins.
        from: Revision,
    },
    Why(ObjectQuery),
    Plan {
        object: ObjectQuery,
        propagation: Propagation,
        point: Option<AsOf>,
    },
    State {
        point: Option<AsOf>,
    },
    Kind {
        kind: String,
        point: Option<AsOf>,
    },
    Owner {
        owner: Owner,
        point: Option<AsOf>,
    },
}

impl Asked {
    /// Parses a query. A plus stands for itself, since times contain it. A name that is repeated is refused:
    /// one of its values would be passed over.
    pub(super) fn read(question: Question, query: &str) -> Result<Self, String> {
        let texts = texts(query)?;
        let revision = |text: &str| text.parse().map(Revision).ok();
        let point = value(&texts, "asOf", POINT, AsOf::parse)?;
        let from = value(&texts, "from", REVISION, revision)?.unwrap_or(Revision(1));
        let filter = filter(&texts)?;
        let propagation = propagation(&texts)?;
        question.refuse_empty(&texts)?;
        let text = |name| given(&texts, name).unwrap_or_default().to_owned();
        let asked = match question {
            Question::Log => Self::Log { filter, from },
            Question::Why => Self::Why(object(filter)?),
            Question::Plan => Self::Plan {
                object: object(filter)?,
                propagation,
                point,
            },
            Question::State => Self::State { point },
            Question::Kind => Self::Kind {
                kind: text("kind"),
                point,
            },
            Question::Owner => Self::Owner {
                owner: Owner {
                    api_version: text("apiVersion"),
                    kind: text("kind"),
                    namespace: text("namespace"),
                    name: text("name"),
                    uid: text("uid"),
                },
                point,
            },
        };
        question.refuse_unknown(&texts)?;
        Ok(asked)
    }

    /// The point of the past that it is about; `None` for the present.
    pub(super) const fn point(&self) -> Option<AsOf> {
        match self {
            Self::Log { .. } | Self::Why(_) => None,
            Self::Plan { point, .. }
            | Self::State { point }
            | Self::Kind { point, .. }
            | Self::Owner { point, .. } => *point,
        }
    }
}

fn filter(texts: &BTreeMap<String, String>) -> Result<Filter, String> {
    let text = |name| given(texts, name).map(str::to_owned);
    Ok(Filter {
        kind: text("kind"),
        namespace: text("namespace"),
        name: text("name"),
        uid: text("uid"),
        user: text("user"),
        verb: text("verb"),
        since: value(texts, "since", POINT, AsOf::parse)?,
        until: value(texts, "until", POINT, AsOf::parse)?,
    })
}

/// The one object that is asked about.
fn object(filter: Filter) -> Result<ObjectQuery, String> {
    let missing = |name| move || format!("the {name} is missing; name one object");
    Ok(ObjectQuery {
        kind: filter.kind.ok_or_else(missing("kind"))?,
        name: filter.name.ok_or_else(missing("name"))?,
        namespace: filter.namespace,
        uid: filter.uid,
    })
}

/// The parameters of a query by their names.
fn texts(query: &str) -> Result<BTreeMap<String, String>, String> {
    let mut texts = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if texts
            .insert(name.to_owned(), percent_decode(value)?)
            .is_some()
        {
            return Err(format!("{name} is given twice; give it once"));
        }
    }
    Ok(texts)
}

/// Refuses parameters where none is taken.
pub(in crate::server) fn refuse_any(asked: &str, query: &str) -> Result<(), String> {
    texts(query)?.keys().next().map_or(Ok(()), |name| {
        Err(format!(
            "{asked} does not take {name:?}; it takes no parameters"
        ))
    })
}

/// The propagation policy, as Kubernetes spells it; background if none is given.
fn propagation(query: &BTreeMap<String, String>) -> Result<Propagation, String> {
    match given(query, "propagationPolicy") {
        None => Ok(Propagation::Background),
        Some(sent) => Propagation::named(sent).ok_or_else(|| {
            format!("propagationPolicy={sent} is invalid; use Background, Foreground or Orphan")
        }),
    }
}

fn given<'a>(query: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    let text = query.get(name).map(String::as_str);
    text.filter(|text| !text.is_empty())
}

/// A parameter, if it is given: one that cannot be parsed is an error, and does not count as absent.
fn value<T>(
    query: &BTreeMap<String, String>,
    name: &str,
    form: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    let Some(text) = given(query, name) else {
        return Ok(None);
    };
    let value = read(text);
    let value = value.ok_or_else(|| format!("{name}={text} is invalid; give {form}"))?;
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_read_as_it_was_escaped_and_what_is_no_escape_is_refused() {
        let query = "name=a%2Bb&since=2026-01-31T12:00:00%2B01:00&until=2026-01-31T12:00:00+01:00";
        let asked = Asked::read(Question::Log, query).expect("read");
        let Asked::Log { filter, from } = asked else {
            panic!("{asked:?}");
        };
        assert_eq!(filter.name.as_deref(), Some("a+b"));
        assert!(matches!(filter.since, Some(AsOf::Time(_))));
        assert_eq!(filter.since, filter.until);
        assert_eq!(from, Revision(1));
        for query in [
            "name=%", "name=%4", "name=%zz", "name=%ff", "asOf=x", "from=1h", "from=", "kind",
            "kind=", "since=x", "until=x",
        ] {
            assert!(Asked::read(Question::Log, query).is_err(), "{query}");
        }
    }

    #[test]
    fn a_parameter_that_is_given_twice_is_named() {
        let refused = Asked::read(Question::State, "asOf=3&asOf=3").expect_err("refused");
        assert_eq!(refused, "asOf is given twice; give it once");
    }

    #[test]
    fn a_question_about_one_object_without_its_kind_or_name_says_which_is_missing() {
        for question in [Question::Why, Question::Plan] {
            for (query, missing) in [("name=x", "kind"), ("kind=pod", "name"), ("", "kind")] {
                let refused = Asked::read(question, query).expect_err("refused");
                let told = format!("the {missing} is missing; name one object");
                assert_eq!(refused, told, "{question:?} {query}");
            }
            for (query, empty) in [("kind=&name=x", "kind"), ("kind=pod&name=", "name")] {
                let refused = Asked::read(question, query).expect_err("refused");
                let told = format!("the {empty} is empty; give one");
                assert_eq!(refused, told, "{question:?} {query}");
            }
        }
        let refused = Asked::read(Question::Kind, "kind=").expect_err("refused");
        assert_eq!(refused, "the kind is empty; give one");
    }

    #[test]
    fn a_parameter_that_a_question_does_not_take_is_refused() {
        for (path, query, is_taken) in [
            ("log", "kind=pod&user=admin&from=3", true),
            ("log", "frm=3", false),
            ("log", "asOf=3", false),
            ("why", "kind=pod&name=a&asof=3", false),
            ("why", "kind=pod&name=a&asOf=3", false),
            ("plan", "kind=pod&name=a&asOf=3", true),
            ("plan", "kind=pod&name=a&user=b", false),
            ("state", "asOf=3", true),
            ("state", "asOf=", false),
            ("plan", "kind=pod&name=a&asOf=", false),
            ("plan", "kind=pod&name=a&propagationPolicy=", false),
            ("log", "since=", false),
            ("log", "from", false),
            ("state", "name=a", false),
            ("log", "kind=pod&&kind=pod", false),
            ("owner", "kind=Node&namespace=&name=a", true),
        ] {
            let question = Question::named(path).expect("a question");
            assert_eq!(question.name(), path);
            let read = Asked::read(question, query);
            assert_eq!(read.is_ok(), is_taken, "{path}?{query}: {read:?}");
        }
    }
}
