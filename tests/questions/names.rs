//! What a name means that belonged to another kind before, or to one that nobody can read.

use super::{ask_online_and_offline, assert_printed};
use hindsight_tests::manifests::widgets;
use hindsight_tests::server::{Server, hindsight, text};

const WIDGET: &str = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n";

#[test]
fn what_why_finds_log_lists_though_another_kind_has_the_name_now() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let definition = widgets("{type: object}");
    server.define(&definition);
    server.kubectl_with(&["create", "-f", "-"], WIDGET);
    server.kubectl(&["delete", "crd", "widgets.example.com"]);
    let other = definition.replace("widgets", "others");
    server.kubectl_with(&["create", "-f", "-"], &other);
    let other = "crd/others.example.com";
    server.kubectl(&["wait", other, "--for=condition=Established"]);
    let questions = ["why widget/w", "log widget/w", "log widget"];
    let answers = ask_online_and_offline(server, &directory, &questions);
    assert_printed(&answers[0], "Widget w in default is deleted");
    for log in &answers[1..] {
        assert_printed(log, "widgets.example.com default/w: created");
        assert_printed(log, "widgets.example.com default/w: deleted");
    }
}

#[test]
fn of_a_kind_that_nobody_can_read_the_reason_is_told() {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("data");
    let server = Server::start_on(&directory);
    let definition = widgets("{type: object}").replace("served: true", "served: false");
    server.kubectl_with(&["create", "-f", "-"], &definition);
    let reason = "the definition of widgets.example.com serves none of its versions";
    let refused = || text(&hindsight(&directory, &["get", "widgets.example.com/w"]).stderr);
    let online = refused();
    assert!(
        online.contains(reason) && !online.contains("did you mean"),
        "{online}"
    );
    let questions = [
        "plan widgets.example.com/w",
        "plan tokenreviews/x",
        "plan cm/none",
        "plan node/none",
    ];
    let answers = ask_online_and_offline(server, &directory, &questions);
    assert!(refused().contains(reason));
    for (answer, code, told) in [
        (
            &answers[0],
            3,
            "there is no widgets.example.com w to delete in default;",
        ),
        (&answers[1], 1, "never stored"),
        (&answers[2], 3, "there is no cm none to delete in default;"),
        (&answers[3], 3, "there is no node none to delete;"),
    ] {
        let said = text(&answer.stderr);
        assert!(
            said.contains(told) && answer.status.code() == Some(code),
            "{said}"
        );
    }
}
