"""The official Python client against a server whose kubeconfig is the first argument."""

import sys
import threading
import time

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException


def config_map(name, owner=None):
    metadata = client.V1ObjectMeta(name=name)
    if owner is not None:
        metadata.owner_references = [
            client.V1OwnerReference(
                api_version="v1", kind="ConfigMap", name=owner.metadata.name, uid=owner.metadata.uid
            )
        ]
    return client.V1ConfigMap(metadata=metadata, data={"k": "v"})


def eventually(check):
    for _ in range(500):
        if check():
            return
        time.sleep(0.02)
    raise AssertionError("it never happened")


def gone(core, name):
    try:
        core.read_namespaced_config_map(name, "default")
    except ApiException as error:
        assert error.status == 404, error
        return True
    return False


def test_objects_round_trip(core):
    created = core.create_namespaced_config_map("default", config_map("a"))
    assert created.metadata.uid and created.metadata.creation_timestamp
    core.patch_namespaced_config_map("a", "default", {"data": {"k": "w"}})
    read = core.read_namespaced_config_map("a", "default")
    assert read.data == {"k": "w"}
    read.data = {"k": "x"}
    core.replace_namespaced_config_map("a", "default", read)
    try:
        core.replace_namespaced_config_map("a", "default", read)
        raise AssertionError("a stale replace must be refused")
    except ApiException as error:
        assert error.status == 409 and error.reason == "Conflict", error
    listed = core.list_namespaced_config_map("default", field_selector="metadata.name=a")
    assert [one.metadata.name for one in listed.items] == ["a"]
    core.delete_namespaced_config_map("a", "default")
    assert gone(core, "a")


def test_an_error_is_a_status(core):
    try:
        core.create_namespaced_config_map("default", config_map("Not_A_Name"))
        raise AssertionError("a bad name must be refused")
    except ApiException as error:
        assert error.status == 422, error
        assert '"reason":"Invalid"' in error.body.replace(" ", ""), error.body


def test_a_cascade_and_a_watch(core):
    seen = []
    listed = core.list_namespaced_config_map("default")
    start = listed.metadata.resource_version

    def follow():
        stream = watch.Watch().stream(
            core.list_namespaced_config_map, "default", resource_version=start, timeout_seconds=5
        )
        for event in stream:
            seen.append((event["type"], event["object"].metadata.name))

    follower = threading.Thread(target=follow)
    follower.start()
    owner = core.create_namespaced_config_map("default", config_map("owner"))
    core.create_namespaced_config_map("default", config_map("child", owner))
    core.delete_namespaced_config_map("owner", "default", propagation_policy="Background")
    eventually(lambda: gone(core, "child"))
    follower.join()
    assert seen == [
        ("ADDED", "owner"),
        ("ADDED", "child"),
        ("DELETED", "owner"),
        ("DELETED", "child"),
    ], seen


def test_the_dynamic_client(api):
    dynamic_client = dynamic.DynamicClient(api)
    deployments = dynamic_client.resources.get(api_version="apps/v1", kind="Deployment")
    assert deployments.get(namespace="default").items == []


def test_server_side_apply(api):
    dynamic_client = dynamic.DynamicClient(api)
    maps = dynamic_client.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"k": "v"}}
    made = dynamic_client.server_side_apply(
        maps, body=body, namespace="default", field_manager="first"
    )
    assert [one.manager for one in made.metadata.managedFields] == ["first"]
    body["data"]["k"] = "w"
    try:
        dynamic_client.server_side_apply(
            maps, body=body, namespace="default", field_manager="second"
        )
        raise AssertionError("what another one holds must not be taken")
    except ApiException as error:
        assert error.status == 409 and "FieldManagerConflict" in str(error.body), error
    forced = dynamic_client.server_side_apply(
        maps, body=body, namespace="default", field_manager="second", force_conflicts=True
    )
    assert forced.data.k == "w"


def main():
    api = config.new_client_from_config(config_file=sys.argv[1])
    core = client.CoreV1Api(api)
    for test in (test_objects_round_trip, test_an_error_is_a_status, test_a_cascade_and_a_watch):
        test(core)
        print("ok", test.__name__)
    for test in (test_the_dynamic_client, test_server_side_apply):
        test(api)
        print("ok", test.__name__)


main()
