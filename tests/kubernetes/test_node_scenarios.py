"""The scenarios of the process runtime on a real node, the same functions: real clients ask, and what counts is what
the machine runs. After each one kubectl and the node are heard, too."""
# pylint: disable=unused-import
import images
import pytest
from conftest import Servers, account, wait_until
from node_programs import NodeMark
from on_node import Place, wait_until_ready
from programs import LONG, container, task_id
from test_run import (
    define,
    describe,
    exit_codes,
    run,
    running,
    stopped,
    test_a_container_that_is_not_essential_may_end,
    test_a_stop_that_comes_at_once,
    test_a_task_runs_and_stops,
    test_an_essential_exit_ends_the_others,
    test_exit_codes,
    test_overrides,
    test_tasks_stop_with_the_server_when_asked_to,
)
from test_run_exec import (
    slipway_run,
    task,
    test_a_client_that_does_not_read_is_waited_for,
    test_audit_has_programs,
    test_exec_refused,
    test_exec_with_a_terminal,
    test_execute_command_names_what_works,
    test_followers_do_not_keep_a_server_from_stopping,
    test_logs_of_a_chosen_container,
    test_many_programs_at_once,
    test_policies_hold,
)
from test_service_failures import (
    test_daemon_that_cannot_run_keeps_no_other_task_out,
    test_first_deployment_that_crashes_is_never_completed,
)
from test_services_run import (
    Watch,
    create,
    register,
    remove,
    service,
    set_state,
    test_a_failing_daemon_does_not_block_replacements,
    test_a_rollout_that_a_client_stops_goes_back,
    test_task_sets_of_an_external_service,
    version,
    wait_completed,
    wait_stable,
)
from test_services_run import \
    test_a_rollout_stays_within_its_bounds as rollout_stays_within_its_bounds, \
    test_a_version_that_fails_is_rolled_back as version_that_fails_is_rolled_back
from witness import annotations, task_ids

pytestmark = pytest.mark.node


@pytest.fixture(scope="module")
def place(node_cluster, module_slipway, tmp_path_factory):
    return Place(node_cluster, module_slipway, tmp_path_factory.mktemp("slipway"))


@pytest.fixture(scope="module")
def slipway(place):
    return place.server


@pytest.fixture
def report_size():
    """Kubernetes starts the program first, and then sets its terminal's size."""
    return "until stty size | grep '33 77'; do sleep 0.05; done"


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


@pytest.fixture
def mark(place):
    return NodeMark(place)


@pytest.fixture
def start_slipway(place):
    """Servers of a test's own, on the same node."""
    servers = Servers([*place.arguments, *account()])

    def start(*arguments, **options):
        server = servers.start(*arguments, **options)
        wait_until_ready(server)
        return server

    yield start
    servers.end()


@pytest.fixture(autouse=True)
def witnesses(place, ecs):
    """When a test is over, ECS and kubectl report the same, and the node runs it."""
    yield
    ours = f":{place.server.key['account']}:"

    def agree():
        arns = ecs.list_tasks(desiredStatus="RUNNING")["taskArns"]
        pods = [pod for pod in place.witness.all_pods()
                if ours in annotations(pod)["slipway.dev/cluster-arn"]
                and "deletionTimestamp" not in pod["metadata"]
                and pod["status"]["phase"] in ("Pending", "Running")]
        return {arn.rsplit("/", 1)[1] for arn in arns} == task_ids(pods) \
            and all(place.container_ids(pods).values())

    try:
        wait_until(agree, "ECS, kubectl and the node agree")
    finally:  # leftovers of a failed test would break others
        for arn in ecs.list_services()["serviceArns"]:
            remove(ecs, arn)
        for arn in ecs.list_tasks()["taskArns"]:
            ecs.stop_task(task=arn)
            stopped(ecs, arn)


# One case of each is enough to see that Kubernetes applies the spec.

def test_a_rollout_stays_within_its_bounds(ecs, mark):
    rollout_stays_within_its_bounds(ecs, mark, 50, 100, 2, 4)


def test_a_version_that_fails_is_rolled_back(slipway, ecs, mark):
    version_that_fails_is_rolled_back(slipway, ecs, mark, "sleep 3; exit 1")


def the_instance(ecs):
    instance, = ecs.list_container_instances()["containerInstanceArns"]
    return instance


def test_start_task(place, ecs, mark):
    instance = the_instance(ecs)
    answer = ecs.start_task(taskDefinition=define(ecs, "placed", container(mark, LONG)),
                            containerInstances=[instance], startedBy="me")
    assert answer["failures"] == []
    arn = answer["tasks"][0]["taskArn"]
    found = running(ecs, arn)
    assert (found["containerInstanceArn"], found["startedBy"]) == (instance, "me")
    assert mark.wait_for(1) == {task_id(arn)}
    assert place.witness.pod(task_id(arn))["spec"]["nodeName"] == place.cluster.place.name
    ecs.stop_task(task=arn)
    assert exit_codes(stopped(ecs, arn)) == {"app": 143}


def milli(quantity):
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000


def take_processors(place, name):
    """An unmanaged pod that takes most of the node's processors; returns how many units then do not fit."""
    cpu = milli(place.cluster.kubectl_json("get", "node", place.cluster.place.name)["status"]["allocatable"]["cpu"])
    path = "/api/v1/namespaces/default/pods"
    place.cluster.api.post(path, {"metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [
        {"name": "app", "image": images.BUSYBOX, "imagePullPolicy": "Never", "command": ["sleep", "100000"],
         "resources": {"requests": {"cpu": f"{cpu * 3 // 4}m"}}}]}})
    wait_until(lambda: place.cluster.api.get(f"{path}/{name}")["status"]["phase"] == "Running", "it runs")
    return cpu * 1024 // 2000


def test_start_task_where_others_leave_no_room(place, ecs, mark):
    """ECS knows only of its own tasks. The node refuses the first one, and the next one waits for the scheduler."""
    units = take_processors(place, "spacious")
    definition = define(ecs, "crowded", container(mark, LONG, cpu=units))

    def start():
        return ecs.start_task(taskDefinition=definition, containerInstances=[the_instance(ecs)])["tasks"][0]["taskArn"]

    try:
        refused = stopped(ecs, start())
        assert refused["stopCode"] == "TaskFailedToStart"
        assert refused["stoppedReason"].startswith("OutOfcpu: ")
        arn = start()
        wait_until(lambda: "nsufficient cpu" in str(describe(ecs, arn)), "the next one says why it waits")
        assert describe(ecs, arn)["lastStatus"] in ("PROVISIONING", "PENDING")
    finally:
        place.cluster.kubectl("delete", "pod", "spacious", "--wait=false")
    running(ecs, arn)
    assert mark.wait_for(1) == {task_id(arn)}
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_an_unknown_secret(ecs, mark):
    arn, = run(ecs, define(ecs, "secret", container(
        mark, LONG, secrets=[{"name": "A", "valueFrom": "absent-parameter"}]),
        executionRoleArn="arn:aws:iam::123456789012:role/r"))
    found = stopped(ecs, arn)
    assert found["stopCode"] == "TaskFailedToStart"
    assert "ResourceInitializationError: unable to pull secrets" in found["stoppedReason"]
    assert not mark.processes()


def test_much_output_is_read_whole(slipway, ecs, mark):
    """It continues running: what is said last before an end, containerd may lose."""
    arn, = run(ecs, define(ecs, "much", container(mark, f"seq 1 30000; {LONG}")))
    running(ecs, arn)
    expected = b"".join(b"%d\n" % number for number in range(1, 30001))
    wait_until(lambda: slipway_run(slipway, "logs", arn).stdout == expected, "all of it is there")
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_a_daemon_runs_on_the_node(place, ecs, mark):
    name = "daemon-" + mark.value
    old, new = (register(ecs, name, version(mark, number)) for number in (1, 2))
    create(ecs, name, old, None, 0, 100, schedulingStrategy="DAEMON")
    first, = mark.wait_for(1, VERSION="1")
    wait_completed(ecs, name, old)
    assert (service(ecs, name)["desiredCount"], service(ecs, name)["runningCount"]) == (1, 1)
    wait_until(lambda: place.witness.deployment(name, "daemonsets")["status"]["numberReady"] == 1,
               "kubectl says so, too")
    ecs.update_service(service=name, taskDefinition=new)
    wait_completed(ecs, name, new)
    second, = mark.wait_for(1, VERSION="2")
    assert mark.tasks() == {second}
    assert describe(ecs, first)["stopCode"] == "ServiceSchedulerInitiated"

    # Nothing but daemons is here, so it leaves when the node drains, and comes back.
    set_state(ecs, the_instance(ecs), "DRAINING")
    try:
        mark.wait_for(0)
        wait_until(lambda: service(ecs, name)["desiredCount"] == 0, "none is wanted")
        wait_stable(ecs, name)
    finally:
        set_state(ecs, the_instance(ecs), "ACTIVE")
    third, = mark.wait_for(1, VERSION="2")
    assert third not in (first, second)
    remove(ecs, name)
    mark.wait_for(0)


def test_a_draining_node_gives_up_nothing_before_others_serve(place, ecs, mark):
    name = "stays-" + mark.value
    create(ecs, name, register(ecs, name, version(mark, 1)), 1)
    wait_stable(ecs, name)
    mark.wait_for(1)
    before = mark.processes()
    with Watch(mark) as watch:
        set_state(ecs, the_instance(ecs), "DRAINING")
        try:
            wait_until(lambda: len(place.witness.pods(name)) == 2, "another one is wanted")
            wait_until(lambda: place.cluster.kubectl_json("get", "node", place.cluster.place.name)["spec"].get(
                "unschedulable"), "it is closed")
            watch.wait_for_looks()
            assert mark.processes() == before
        finally:
            set_state(ecs, the_instance(ecs), "ACTIVE")
        wait_until(lambda: len(place.witness.pods(name)) == 1, "one is left")
        wait_stable(ecs, name)
    assert watch.fewest() >= 1, watch.story()
    remove(ecs, name)
    mark.wait_for(0)
