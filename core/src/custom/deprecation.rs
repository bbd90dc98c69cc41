//! The warning that comes with every response of a deprecated version.

use super::{Reader, flag, text};
use crate::kind::Preference;
use crate::object::Name;
use serde_json::Value;

impl Reader<'_> {
    /// The warning of a deprecated version: its own text, or else which version to use; `best` is that of
    /// [`Self::best_offered`]. Source: upstream's `defaultDeprecationWarning`.
    pub(super) fn deprecation_warning(&self, version: &Value, best: Option<&str>) -> Option<Name> {
        if !flag(version, "deprecated") {
            return None;
        }
        let own = version.get("deprecationWarning").and_then(Value::as_str);
        if let Some(own) = own {
            return Some(own.into());
        }
        let (group, kind) = (self.text("/spec/group"), self.text("/spec/names/kind"));
        let name = text(version, "/name");
        let told = format!("{group}/{name} {kind} is deprecated");
        let better = best.filter(|best| Preference::of(best) < Preference::of(name));
        let told = match better {
            Some(better) => format!("{told}; use {group}/{better} {kind}"),
            None => told,
        };
        Some(told.into())
    }

    /// The most preferred version among those that are served and not deprecated.
    pub(super) fn best_offered(&self) -> Option<&str> {
        let offered = |one: &&Value| flag(one, "served") && !flag(one, "deprecated");
        let names = self.versions().iter().filter(offered);
        let names = names.map(|one| text(one, "/name"));
        names.min_by_key(|name| Preference::of(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::custom::kind_of_definition;
    use serde_json::json;

    /// Versions, each with `s` if it is served and `d` if it is deprecated, and the warning of the
    /// last one.
    const ROWS: &str = "\
v1 s, v1beta1 sd                              | z.io/v1beta1 G is deprecated; use z.io/v1 G
v1 s, v3 s, v2 s, v1beta1 sd                  | z.io/v1beta1 G is deprecated; use z.io/v3 G
v3 -, v2 sd, v1 s, v1beta1 sd                 | z.io/v1beta1 G is deprecated; use z.io/v1 G
v1beta2 s, v1beta1 sd                         | z.io/v1beta1 G is deprecated; use z.io/v1beta2 G
v1alpha1 s, v1beta1 sd                        | z.io/v1beta1 G is deprecated
v1 s, v2 sd                                   | z.io/v2 G is deprecated
v1 s, v01 sd                                  | z.io/v01 G is deprecated
zeta s, v1alpha1 sd                           | z.io/v1alpha1 G is deprecated
b s, a s, zeta sd                             | z.io/zeta G is deprecated; use z.io/a G
v1 sd                                         | z.io/v1 G is deprecated
v2 s, v1 s                                    | -
";

    fn told(versions: &Value) -> Option<Name> {
        let document = json!({"spec": {"group": "z.io", "names": {"plural": "gs", "kind": "G"},
            "versions": versions}});
        let kind = kind_of_definition(&document, &"u".into(), false).expect("a kind");
        kind.versions
            .last()
            .expect("a version")
            .deprecation_warning
            .clone()
    }

    #[test]
    fn without_words_of_its_own_a_version_names_the_best_that_is_better() {
        for row in ROWS.lines() {
            let (versions, wanted) = row.split_once('|').expect("two columns");
            let versions = versions.split(',').enumerate().map(|(index, version)| {
                let (name, flags) = version.trim().split_once(' ').expect("flags");
                json!({"name": name, "served": flags.contains('s'), "storage": index == 0,
                    "deprecated": flags.contains('d')})
            });
            let told = told(&versions.collect());
            assert_eq!(told.as_deref().unwrap_or("-"), wanted.trim(), "{row}");
        }
    }

    /// If each were compared with each, this would not end for minutes.
    #[test]
    fn however_many_versions_there_are_the_best_one_is_looked_for_once() {
        let one = |index: usize| {
            json!({"name": format!("v{}", index + 1), "served": true, "storage": index == 0,
                "deprecated": index.is_multiple_of(2)})
        };
        let (first, last) = (0..40_001, (0..40_001).rev());
        let all: [Value; 2] = [first.map(one).collect(), last.map(one).collect()];
        let wanted = [
            "z.io/v40001 G is deprecated",
            "z.io/v1 G is deprecated; use z.io/v40000 G",
        ];
        for (versions, wanted) in all.iter().zip(wanted) {
            assert_eq!(told(versions).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn its_own_words_are_told_where_it_is_deprecated() {
        let version = |deprecated: bool| {
            json!([{"name": "v1", "served": true, "storage": true, "deprecated": deprecated,
                "deprecationWarning": "use v2"}])
        };
        assert_eq!(told(&version(true)).as_deref(), Some("use v2"));
        assert_eq!(told(&version(false)), None);
    }
}
