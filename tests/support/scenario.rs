//! Scenarios, with one step per line. They serve as tests, as documentation, and to write down
//! failing histories. Requests go through the API of a control plane; the collector moves only when a
//! step says so.
//!
//! ```text
//! create  KIND NAME [in=NAMESPACE] [owner=NAME[,NAME]] [block] [finalizers=A[,B]] [as=ID] [OPTIONS]
//! delete  KIND NAME [in=NAMESPACE] [policy=background|foreground|orphan] [OPTIONS]
//! clear   KIND      [in=NAMESPACE] [as delete]             # a collection
//! set     KIND NAME [in=NAMESPACE] [status] finalizers=A[,B] | finalizers= | owner=NAME | owner=
//! define  PLURAL KIND [cluster] [status]                   # in the group example.com, version v1
//! send    METHOD PATH [as=MEDIA] [accept=TYPE] [with BODY] # "~" is /api/v1/namespaces/default
//! gc      until-idle [after=SECONDS] [steps=N]             # so many at a time
//! gc      part turns=N [steps=N]                           # so many times so many
//! gc      plan [steps=N]                                   # decided at the next gc, not yet
//! restart                                                  # from the log
//! watch   WATCH PATH
//!
//! refuse  any request above, and a part of the message in quotes
//! still   any step above: it writes nothing
//! each    N any step above: N times, with @ replaced by 1 to N
//!
//! expect  KIND NAME [in=NAMESPACE] live|deleting|absent [finalizers=A,B] [owner=NAME,NAME]
//! rule    KIND NAME RULE           # what its mark or its removal gives as the reason
//! some    KIND NAMESPACE "text"    # an object there says this, "-" for no namespace
//! none    KIND NAMESPACE "text"
//! code    N                        # of the last answer; one that refuses must be looked at
//! reads   POINTER JSON|absent|~ "part"   # the last answer, or event, at a JSON pointer
//! keep    NAME POINTER             # remembered as $NAME
//! warns   "text"                   # a header of the last answer; "" for none at all
//! seen    WATCH ADDED|MODIFIED|DELETED|BOOKMARK|ERROR|end [NAME]
//! ```
//!
//! OPTIONS of a delete are `orphan=true`, `grace=N`, `uid=U`, `revision=N` and `query=NAME=VALUE`,
//! which go into the query; OPTIONS of all requests: `dry`. `with {...}` at the end of a line is
//! merged into the object that is created, is the patch of `set`, and the `DeleteOptions` in the body
//! of `delete`. `$NAME` stands for the UID of what was created under that name, or as that ID,
//! `$NAME.rv` for its newest version, `$$` for a dollar. What a step does not know is refused.

mod checks;
mod line;
mod requests;
mod watches;

use crate::http::{Answer, Events};
use crate::stage::Stage;
use hindsight_core::ObjectKey;
use hindsight_core::kind::KindRef;
use line::Line;
use std::collections::BTreeMap;

/// Runs a scenario; the message names the line that failed.
pub fn run(text: &str) -> Result<(), String> {
    play(text).map(drop)
}

/// Runs a scenario, and returns a backup of the log that it wrote.
pub fn backup_of(text: &str) -> Result<Vec<u8>, String> {
    play(text).map(|scenario| scenario.stage.backup())
}

fn play(text: &str) -> Result<Scenario, String> {
    let on_disk = text.lines().any(|line| line.trim() == "restart");
    let mut scenario = Scenario::new(on_disk);
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Err(why) = scenario.step(line) {
            let history = scenario.stage.history();
            return Err(format!("line {}: {line}: {why}\n{history}", index + 1));
        }
    }
    scenario.read_refusal()?;
    Ok(scenario)
}

struct Scenario {
    stage: Stage,
    /// Kind and key of everything that was created, by name.
    created: BTreeMap<String, (String, ObjectKey)>,
    /// UIDs, and values kept by `keep`, by name.
    known: BTreeMap<String, String>,
    watches: BTreeMap<String, Events>,
    last: Answer,
    /// Whether no step has looked at it yet.
    is_unread: bool,
}

impl Scenario {
    fn new(on_disk: bool) -> Self {
        Self {
            stage: Stage::new(on_disk),
            created: BTreeMap::new(),
            known: BTreeMap::new(),
            watches: BTreeMap::new(),
            last: Answer::default(),
            is_unread: false,
        }
    }

    fn step(&mut self, line: &str) -> Result<(), String> {
        let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match verb {
            "each" => return self.each(rest),
            "still" => return self.still(rest),
            "refuse" => return self.refuse(rest),
            _ => {}
        }
        let rest = self.substitute(rest)?;
        let rest = rest.as_str();
        match verb {
            "code" | "reads" | "keep" | "warns" => self.is_unread = false,
            "create" | "delete" | "clear" | "set" | "define" | "send" | "seen" => {
                self.read_refusal()?;
            }
            _ => {}
        }
        match verb {
            "create" => self.create(&Line::parse(verb, rest)?),
            "delete" => self.delete(&Line::parse(verb, rest)?),
            "clear" => self.clear(&Line::parse(verb, rest)?),
            "set" => self.set(&Line::parse(verb, rest)?),
            "define" => self.define(&Line::parse(verb, rest)?),
            "send" => self.send(&Line::parse(verb, rest)?),
            "gc" => self.collect(rest),
            "restart" => {
                self.watches.clear();
                self.stage.restart();
                Ok(())
            }
            "watch" => self.watch(rest),
            "seen" => self.seen(rest),
            _ => self.check(verb, rest),
        }
    }

    /// A request that was refused is no step of a scenario unless a line looks at the answer.
    fn read_refusal(&self) -> Result<(), String> {
        let Answer { code, text, .. } = &self.last;
        if !self.is_unread || *code < 400 {
            return Ok(());
        }
        Err(format!("nothing reads the answer before: {code}: {text}"))
    }

    fn collect(&mut self, rest: &str) -> Result<(), String> {
        let line = Line::parse("gc", rest)?;
        let number = |option: &str, usual: &str| {
            let text = line.option(option).unwrap_or(usual);
            text.parse::<u32>()
                .map_err(|_| format!("{option}= takes a number"))
        };
        let (seconds, steps) = (number("after", "0")?, number("steps", "512")?);
        let steps = usize::try_from(steps).map_err(|error| error.to_string())?;
        match line.kind {
            "until-idle" => self.stage.settle(seconds.into(), steps),
            "part" => {
                let turns = number("turns", "1")?;
                (0..turns).all(|_| self.stage.turn(steps));
            }
            "plan" => self.stage.plan(steps),
            _ => return Err("only until-idle, part and plan are known".into()),
        }
        Ok(())
    }

    fn each(&mut self, rest: &str) -> Result<(), String> {
        let (count, step) = rest.split_once(' ').ok_or("a number and a step")?;
        let count: u32 = count.parse().map_err(|_| "a number is expected")?;
        (1..=count).try_for_each(|index| self.step(&step.trim().replace('@', &index.to_string())))
    }

    fn still(&mut self, step: &str) -> Result<(), String> {
        let before = self.stage.client.revision();
        self.step(step)?;
        if self.stage.client.revision() == before {
            Ok(())
        } else {
            Err("it wrote something".into())
        }
    }

    fn refuse(&mut self, rest: &str) -> Result<(), String> {
        let (step, message) = rest
            .split_once(" \"")
            .ok_or("a message in quotes is expected")?;
        let message = &self.substitute(message.trim_end_matches('"'))?;
        let before = self.stage.client.revision();
        match self.step(step.trim()) {
            Ok(()) => Err("it was not refused".into()),
            Err(_) if self.stage.client.revision() != before => Err("it wrote something".into()),
            Err(why) if why.contains(message) => Ok(()),
            Err(why) => Err(format!("it was refused with: {why}")),
        }
    }

    /// Replaces every `$NAME` and `$NAME.rv`.
    fn substitute(&self, text: &str) -> Result<String, String> {
        let text = text.replace("$$", "\u{0}");
        let mut parts = text.split('$');
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|one: char| !one.is_ascii_alphanumeric() && one != '-');
            let (name, mut rest) = part.split_at(end.unwrap_or(part.len()));
            if let Some(after) = rest.strip_prefix(".rv") {
                rest = after;
                whole.push_str(&self.version(name)?);
            } else {
                let known = self.known.get(name);
                whole.push_str(known.ok_or_else(|| format!("nothing is known as {name}"))?);
            }
            whole.push_str(rest);
        }
        Ok(whole.replace('\u{0}', "$"))
    }

    fn version(&self, name: &str) -> Result<String, String> {
        let created = self.created.get(name);
        let (_, key) = created.ok_or_else(|| format!("{name} was never created"))?;
        let state = self.stage.state();
        let object = state.get(key).ok_or_else(|| format!("{name} is gone"))?;
        Ok(object.revision.to_string())
    }

    fn kind(&self, name: &str) -> Result<KindRef, String> {
        let state = self.stage.state();
        let found = state.kinds.iter().find(|kind| &*kind.kind == name);
        found.cloned().ok_or_else(|| format!("no kind {name}"))
    }

    fn key(&self, line: &Line<'_>) -> Result<ObjectKey, String> {
        let kind = self.kind(line.kind)?;
        let namespace = line.option("in").unwrap_or("default");
        let namespace = if kind.is_namespaced() { namespace } else { "" };
        Ok(ObjectKey::new(kind.resource.clone(), namespace, line.name))
    }
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn what_a_step_does_not_know_is_refused_by_name_and_line() {
        for (step, unknown) in [
            ("create ConfigMap a finalizer=x/y", "finalizer="),
            ("create ConfigMap a bloc", "bloc"),
            ("delete ConfigMap a propagation=orphan", "propagation="),
            ("clear ConfigMap owner=a", "owner="),
            ("set ConfigMap a grace=1", "grace="),
            ("define gadgets Gadget scope=cluster", "scope="),
            ("send GET ~/configmaps?limit=1 dry=All", "dry="),
            ("gc until-idle turns=1", "turns="),
            ("gc part after=1", "after="),
            ("gc plan turns=1", "turns="),
            ("expect ConfigMap a live owners=b", "owners="),
            ("expect ConfigMap a alive", "alive"),
        ] {
            let verb = step.split(' ').next().unwrap_or_default();
            for refused in [step.to_owned(), format!("each 2 still {step}")] {
                let told = run(&format!("# nothing\n\n{refused}\n")).expect_err("unknown");
                let is_told = told.starts_with(&format!("line 3: {refused}: {verb}"))
                    && told.contains(&format!(" does not know {unknown}, only "));
                assert!(is_told, "{told}");
            }
        }
    }

    #[test]
    fn a_refusal_that_no_line_looks_at_is_told() {
        let refused = "send GET ~/configmaps/a\n";
        for (after, is_told) in [
            ("", true),
            ("expect ConfigMap a absent\n", true),
            ("create ConfigMap a\ncode 404\n", true),
            ("code 404\n", false),
            (
                "expect ConfigMap a absent\nreads /code 404\ncreate ConfigMap a\n",
                false,
            ),
        ] {
            let told = run(&format!("{refused}{after}"));
            let unread = |why: &String| why.contains("nothing reads the answer before: 404");
            assert_eq!(
                told.as_ref().is_err_and(unread),
                is_told,
                "{after} {told:?}"
            );
        }
    }

    #[test]
    fn what_a_step_knows_is_not_refused() {
        let told = run(
            "create ConfigMap a in=default finalizers=x/y block as=b dry with {}\n\
            create ConfigMap a\nsend GET ~/configmaps?limit=1 accept=application/json\n\
            gc until-idle after=1 steps=2\nexpect ConfigMap a in=default live owner=\n",
        );
        assert_eq!(told, Ok(()));
    }
}
