"""Services whose tasks are real programs: what is promised of rollouts, daemons, draining and protection is
held against the machine itself. While something changes, a thread looks at /proc all the time."""
import os
import threading
import time

import pytest

from conftest import DEADLINE, wait_until
from ecs_requests import send
from programs import Mark, container, task_id

WAIT = {"Delay": 1, "MaxAttempts": 120}
# Without a health check a program counts as serving when it has run for 1 s; the machine counts ticks.
SERVES_AFTER = 0.9
# Ends when it is asked to, and then only when this file is there; another one says that it minds being asked.
RELUCTANT = ("trap 'until test -e {0}; do sleep 0.1; done; exit 0' TERM; touch {0}-$SLIPWAY_TASK; "
             "while :; do sleep 0.2; done")


# ---- the machine ----

def started_at(pid):
    """When a process was made, in seconds since the machine was; None when it has just ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return None


def age_of(pid):
    """Seconds since a process was made; 0 when it has just ended."""
    started = started_at(pid)
    return 0.0 if started is None else time.clock_gettime(time.CLOCK_BOOTTIME) - started


class Watch:
    """Looks at the programs with a mark from the beginning of a block to its end.

    One look takes time, so what ends and what begins during it may both be missed; but whatever lives at the
    end of a look is in it or in the next one. Least counts are therefore taken from two looks in a row. What
    one look has seen did live at the same moment, namely when it began to read."""

    def __init__(self, *marks):
        self.marks = marks
        self.looks = []  # {task: (version, seconds that it has run)}
        self.times = []  # when each began and ended
        self.ended = threading.Event()
        self.problem = None
        self.thread = threading.Thread(target=self.run)

    def look(self):
        found = {}
        began = time.monotonic()
        for mark in self.marks:
            for pid, environment in mark.processes().items():
                task = environment.get("SLIPWAY_TASK")
                age = max(age_of(pid), found.get(task, (None, 0.0))[1])
                found[task] = (environment.get("VERSION"), age)
        self.looks.append(found)
        self.times.append((began, time.monotonic()))

    def story(self):
        """The observed states, wherever they changed, to debug a failure."""
        lines, before = [], None
        for look, (began, ended) in zip(self.looks, self.times):
            now = {task: its for task, (its, _) in look.items()}
            if now != before:
                lines.append(f"{began - self.times[0][0]:.2f} to {ended - self.times[0][0]:.2f} s: {now}")
            before = now
        return "\n".join(lines)

    def run(self):
        try:
            while not self.ended.wait(0.03):
                self.look()
            for _ in range(2):
                self.look()
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem

    def __enter__(self):
        self.look()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        assert self.problem is None

    def wait_for_looks(self, number=10):
        """Wait until so many more looks were taken: what is wrong has time to show."""
        wanted = len(self.looks) + number
        wait_until(lambda: len(self.looks) >= wanted or self.problem, "it looks")

    def pairs(self):
        return zip(self.looks, self.looks[1:])

    def fewest(self, version=None, seconds=0.0):
        """The least number of tasks (of a version) that had run so long."""
        return min(len({task for look in pair for task, (its, age) in look.items()
                        if version in (None, its) and age >= seconds}) for pair in self.pairs())

    def most(self):
        return max(len(look) for look in self.looks)

    def assert_outlived(self, task, by):
        """`task` ended no later than `by`, and both ended."""
        assert task in self.looks[0] and by in self.looks[0]
        assert task not in self.looks[-1] and by not in self.looks[-1]
        for earlier, later in self.pairs():
            assert by in earlier or task not in later, "it ended first"


# ---- requests ----

def version(mark, number, script=None, **members):
    """A container that says its version. Without a script it is one program from the beginning: a shell that
    becomes another program is no process with a mark for a moment."""
    if script is None:
        members["command"] = ["sleep", "1000"]
    return container(mark, script, environment={"VERSION": str(number)}, **members)


def register(ecs, family, *containers, **members):
    return ecs.register_task_definition(family=family, containerDefinitions=list(containers),
                                        **members)["taskDefinition"]["taskDefinitionArn"]


def create(ecs, name, definition, count, minimum=100, maximum=200, breaker=None, **members):
    settings = {"minimumHealthyPercent": minimum, "maximumPercent": maximum}
    if breaker:
        settings["deploymentCircuitBreaker"] = breaker
    if count is not None:
        members["desiredCount"] = count
    return ecs.create_service(serviceName=name, taskDefinition=definition,
                              deploymentConfiguration=settings, **members)["service"]


def service(ecs, name):
    return ecs.describe_services(services=[name])["services"][0]


def wait_stable(ecs, name):
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)


def wait_completed(ecs, name, definition):
    """Wait until the only deployment is of this definition, and completed."""
    def look():
        told = service(ecs, name)
        states = [(one["status"], one["taskDefinition"], one["rolloutState"])
                  for one in told["deployments"]]
        return told if states == [("PRIMARY", definition, "COMPLETED")] else None

    return wait_until(look, f"{name} has {definition}", DEADLINE * 2)


def messages(ecs, name):
    return [event["message"] for event in service(ecs, name)["events"]]


def wait_for_event(ecs, name, part):
    return wait_until(lambda: [text for text in messages(ecs, name) if part in text],
                      f"{name} reports: {part}")[0]


def tasks_of(ecs, name):
    arns = ecs.list_tasks(serviceName=name)["taskArns"]
    return ecs.describe_tasks(tasks=arns)["tasks"] if arns else []


def places_of(ecs, name):
    """{id: instance} of the tasks of a service."""
    return {task_id(task["taskArn"]): task["containerInstanceArn"] for task in tasks_of(ecs, name)}


def describe(ecs, task):
    return ecs.describe_tasks(tasks=[task])["tasks"][0]


def remove(ecs, name):
    ecs.delete_service(service=name, force=True)
    ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)


def service_deployments(server, name):
    """Newest first, as DescribeServiceDeployments returns them."""
    listed = send(server, "ListServiceDeployments", {"service": name}).json["serviceDeployments"]
    told = send(server, "DescribeServiceDeployments", {"serviceDeploymentArns": [
        one["serviceDeploymentArn"] for one in listed]}).json["serviceDeployments"]
    return sorted(told, key=lambda one: one["createdAt"], reverse=True)


def set_state(ecs, instance, state):
    answer = ecs.update_container_instances_state(containerInstances=[instance], status=state)
    assert answer["failures"] == []


@pytest.fixture(scope="module", name="ecs")
def client(slipway):
    return slipway.boto("ecs")


@pytest.fixture(name="mark")
def new_mark():
    return Mark()


@pytest.fixture(name="three")
def three_instances(start_slipway):
    return start_slipway("--instances", 3).boto("ecs")


# ---- rolling deployments ----

@pytest.mark.parametrize("script", ["exit 1", "sleep 3; exit 1"], ids=["at-once", "after-3-s"])
def test_a_version_that_fails_is_rolled_back(slipway, ecs, mark, script):
    name = "breaks-" + mark.value
    good = register(ecs, name, version(mark, 1))
    bad = register(ecs, name, version(mark, 2, script))
    create(ecs, name, good, 2, breaker={"enable": True, "rollback": True})
    wait_completed(ecs, name, good)
    first = service(ecs, name)["deployments"][0]["id"]
    mark.wait_for(2)
    before = mark.processes()
    assert len(before) == 2
    with Watch(mark) as watch:
        told = ecs.update_service(service=name, taskDefinition=bad)["service"]
        failed = told["deployments"][0]["id"]
        wait_for_event(ecs, name, f"(service {name}) (deployment {failed}) deployment failed: "
                                  "tasks failed to start.")
        wait_for_event(ecs, name, f"(service {name}) rolling back to deployment {first}.")
        told = wait_completed(ecs, name, good)
        wait_stable(ecs, name)
    assert watch.fewest(version="1") >= 2, watch.story()
    assert told["taskDefinition"] == good
    mark.wait_for(2, VERSION="1")
    mark.wait_for(0, VERSION="2")
    # The missing tasks were stopped by the service, to start the revision again; the others are unchanged.
    after = mark.processes()
    for pid, environment in before.items():
        assert pid in after or describe(ecs, environment["SLIPWAY_TASK"])["stopCode"] == \
            "ServiceSchedulerInitiated"
    states = service_deployments(slipway, name)
    assert [one["status"] for one in states] == ["ROLLBACK_SUCCESSFUL", "SUCCESSFUL"]
    assert states[0]["deploymentCircuitBreaker"]["status"] == "TRIGGERED"
    assert states[0]["deploymentCircuitBreaker"]["failureCount"] >= 3
    targets = [one["targetServiceRevision"]["arn"] for one in states]
    assert states[0]["rollback"]["serviceRevisionArn"] == targets[1] != targets[0]
    wait_for_event(ecs, name, f"(service {name}) has reached a steady state.")
    remove(ecs, name)
    mark.assert_ended()


@pytest.mark.parametrize("minimum,maximum,least,most", [(50, 100, 2, 4), (100, 150, 4, 6)])
def test_a_rollout_stays_within_its_bounds(ecs, mark, minimum, maximum, least, most):
    name = "bounds-" + mark.value
    old, new = (register(ecs, name, version(mark, number)) for number in (1, 2))
    create(ecs, name, old, 4, minimum, maximum)
    wait_stable(ecs, name)
    mark.wait_for(4, VERSION="1")
    # From here on all of them count.
    wait_until(lambda: min(age_of(pid) for pid in mark.processes()) >= SERVES_AFTER, "they serve")
    with Watch(mark) as watch:
        ecs.update_service(service=name, taskDefinition=new)
        wait_completed(ecs, name, new)
        mark.wait_for(0, VERSION="1")
        mark.wait_for(4, VERSION="2")
    assert watch.fewest(seconds=SERVES_AFTER) >= least, watch.story()
    assert watch.most() <= most, watch.story()
    remove(ecs, name)
    mark.assert_ended()


def test_a_rollout_that_a_client_stops_goes_back(slipway, ecs, mark, tmp_path):
    name = "back-" + mark.value
    old = register(ecs, name, version(mark, 1))
    new = register(ecs, name, version(mark, 2, healthCheck={
        "command": ["CMD-SHELL", f"test -e {tmp_path}/never"], "interval": 5, "retries": 10,
        "startPeriod": 300}))
    create(ecs, name, old, 2)
    wait_completed(ecs, name, old)
    # Where the first process of a container is not the program itself, that may come a moment later.
    mark.wait_for(2, VERSION="1")
    before = mark.processes()
    with Watch(mark) as watch:
        ecs.update_service(service=name, taskDefinition=new)
        mark.wait_for(2, VERSION="2")
        assert mark.processes().items() >= before.items()
        stopped = service_deployments(slipway, name)[0]["serviceDeploymentArn"]
        answer = send(slipway, "StopServiceDeployment",
                      {"serviceDeploymentArn": stopped, "stopType": "ROLLBACK"})
        assert answer.json == {"serviceDeploymentArn": stopped}
        mark.wait_for(0, VERSION="2")
        told = wait_completed(ecs, name, old)
        wait_stable(ecs, name)
    assert watch.fewest(version="1") >= 2, watch.story()
    assert told["taskDefinition"] == old
    mark.wait_for(2, VERSION="1")
    states = service_deployments(slipway, name)
    assert [one["status"] for one in states] == ["ROLLBACK_SUCCESSFUL", "SUCCESSFUL"]
    assert states[0]["serviceDeploymentArn"] == stopped
    remove(ecs, name)
    mark.assert_ended()


def test_what_fits_nowhere_waits_for_something_that_does(ecs, mark):
    name = "large-" + mark.value
    (instance,) = ecs.list_container_instances()["containerInstanceArns"]
    resources = ecs.describe_container_instances(containerInstances=[instance])[
        "containerInstances"][0]["registeredResources"]
    (memory,) = [one["integerValue"] for one in resources if one["name"] == "MEMORY"]
    large = register(ecs, name, version(mark, 1, memory=memory + 1))
    fits = register(ecs, name, version(mark, 2))
    create(ecs, name, large, 2)
    text = wait_for_event(ecs, name, "was unable to place a task because no container instance met "
                                     "all of its requirements.")
    assert "insufficient memory available" in text
    assert tasks_of(ecs, name) == [] and not mark.processes()
    told = service(ecs, name)
    assert (told["runningCount"], told["pendingCount"], told["desiredCount"]) == (0, 0, 2)
    assert told["deployments"][0]["rolloutState"] == "IN_PROGRESS"
    ecs.update_service(service=name, taskDefinition=fits)
    wait_completed(ecs, name, fits)
    assert mark.wait_for(2) == mark.tasks(VERSION="2") == set(places_of(ecs, name))
    remove(ecs, name)
    mark.assert_ended()


# ---- protection ----

def test_protected_tasks_stay_until_their_time_is_over(ecs, mark):
    name = "protects-" + mark.value
    create(ecs, name, register(ecs, name, version(mark, 1)), 4)
    wait_stable(ecs, name)
    short, long, *_ = sorted(mark.wait_for(4))
    pids = {pid for pid, its in mark.processes().items() if its["SLIPWAY_TASK"] in (short, long)}
    answer = ecs.update_task_protection(cluster="default", tasks=[short, long],
                                        protectionEnabled=True, expiresInMinutes=60)
    assert answer["failures"] == [] and len(answer["protectedTasks"]) == 2
    ecs.update_service(service=name, desiredCount=1)
    assert mark.wait_for(2) == {short, long}
    assert set(mark.processes()) == pids
    answer = ecs.update_task_protection(cluster="default", tasks=[short], protectionEnabled=True,
                                        expiresInMinutes=1)
    (told,) = answer["protectedTasks"]
    # It is kept for a minute; that is the least that can be asked for.
    wait_until(lambda: mark.tasks() != {short, long}, "one goes", DEADLINE * 3)
    assert mark.wait_for(1) == {long}
    ecs.get_waiter("tasks_stopped").wait(tasks=[short], WaiterConfig=WAIT)
    assert describe(ecs, short)["stoppingAt"] >= told["expirationDate"]
    wait_stable(ecs, name)
    assert set(mark.processes()) <= pids
    ecs.update_service(service=name, desiredCount=0)
    ecs.update_task_protection(cluster="default", tasks=[long], protectionEnabled=False)
    mark.wait_for(0)
    remove(ecs, name)


# ---- task sets ----

def test_task_sets_of_an_external_service(ecs, mark):
    name = "sets-" + mark.value
    blue, green = (register(ecs, name, version(mark, color)) for color in ("blue", "green"))
    ecs.create_service(serviceName=name, desiredCount=5, deploymentController={"type": "EXTERNAL"})

    def make(definition, value):
        return ecs.create_task_set(cluster="default", service=name, taskDefinition=definition,
                                   scale={"value": value, "unit": "PERCENT"})["taskSet"]["id"]

    def told(number):
        return ecs.describe_task_sets(cluster="default", service=name,
                                      taskSets=[number])["taskSets"][0]

    def scale(number, value):
        ecs.update_task_set(cluster="default", service=name, taskSet=number,
                            scale={"value": value, "unit": "PERCENT"})

    def wait_steady(number, count):
        def look():
            found = told(number)
            return found["stabilityStatus"] == "STEADY_STATE" and found["runningCount"] == count

        wait_until(look, f"{number} is steady with {count}")

    one, two = make(blue, 60), make(green, 40)
    for number, count, color in ((one, 3, "blue"), (two, 2, "green")):
        wait_steady(number, count)
        found = told(number)
        assert (found["computedDesiredCount"], found["pendingCount"]) == (count, 0)
        mark.wait_for(count, VERSION=color)
    before = mark.processes()
    ecs.update_service_primary_task_set(cluster="default", service=name, primaryTaskSet=one)
    assert (told(one)["status"], told(two)["status"]) == ("PRIMARY", "ACTIVE")
    ecs.update_service_primary_task_set(cluster="default", service=name, primaryTaskSet=two)
    assert (told(one)["status"], told(two)["status"]) == ("ACTIVE", "PRIMARY")
    assert service(ecs, name)["taskDefinition"] == green
    scale(two, 100)
    wait_steady(two, 5)
    mark.wait_for(5, VERSION="green")
    assert mark.processes().items() >= before.items()  # the primary is a name: nothing was stopped
    scale(one, 0)
    mark.wait_for(0, VERSION="blue")
    wait_steady(one, 0)
    ecs.delete_task_set(cluster="default", service=name, taskSet=one)
    wait_until(lambda: [found["id"] for found in service(ecs, name)["taskSets"]] == [two],
               "the set goes")
    assert len(mark.tasks()) == len(mark.tasks(VERSION="green")) == 5
    remove(ecs, name)
    mark.assert_ended()


# ---- daemons and draining ----

def test_a_daemon_runs_once_on_every_instance(three, mark):
    instances = set(three.list_container_instances()["containerInstanceArns"])
    old, new = (register(three, "daemon", version(mark, number)) for number in (1, 2))
    create(three, "daemon", old, None, 60, 100, schedulingStrategy="DAEMON")
    mark.wait_for(3)
    wait_completed(three, "daemon", old)
    places = places_of(three, "daemon")
    assert mark.tasks() == set(places) and len(places) == len(mark.processes()) == 3
    assert set(places.values()) == instances
    assert service(three, "daemon")["desiredCount"] == 3
    wait_until(lambda: min(age_of(pid) for pid in mark.processes()) >= SERVES_AFTER, "they serve")
    with Watch(mark) as watch:
        three.update_service(service="daemon", taskDefinition=new)
        wait_completed(three, "daemon", new)
        mark.wait_for(0, VERSION="1")
    assert watch.fewest(seconds=SERVES_AFTER) >= 2, watch.story()  # 60 % of 3
    assert watch.most() <= 3, watch.story()
    places = places_of(three, "daemon")
    assert mark.tasks(VERSION="2") == set(places) and set(places.values()) == instances
    assert len(mark.processes()) == 3


def test_daemons_are_the_last_to_leave_and_the_first_to_come_back(three, mark, tmp_path):
    end, web, late = tmp_path / "end", mark.another(), mark.another()
    create(three, "daemon", register(three, "daemon", version(mark, 1)), None, 0, 100,
           schedulingStrategy="DAEMON")
    mark.wait_for(3)
    wait_stable(three, "daemon")
    create(three, "web", register(three, "web", version(
        web, 1, RELUCTANT.format(end), stopTimeout=120)), 3)
    wait_stable(three, "web")
    places = places_of(three, "web")
    wait_until(lambda: all((tmp_path / f"end-{task}").exists() for task in places), "they mind being asked")
    instance = sorted(places.values())[0]
    moves = [task for task, place in places.items() if place == instance]
    assert len(moves) == 1  # they are spread
    (leaves,) = [task for task, place in places_of(three, "daemon").items() if place == instance]
    with Watch(mark, web) as watch:
        set_state(three, instance, "DRAINING")
        wait_until(lambda: describe(three, moves[0])["desiredStatus"] == "STOPPED",
                   "the task is asked to go")
        assert len(web.tasks()) == 4  # it does not go yet, and another runs in its place
        watch.wait_for_looks()
        assert leaves in mark.tasks()
        end.touch()
        wait_until(lambda: leaves not in mark.tasks(), "the daemon leaves")
    watch.assert_outlived(moves[0], leaves)
    wait_stable(three, "web")
    wait_stable(three, "daemon")
    assert instance not in places_of(three, "web").values()
    assert len(web.tasks()) == 3
    assert service(three, "daemon")["desiredCount"] == len(mark.tasks()) == 2
    # One that can only run there waits for the instance, and then for the daemon.
    three.put_attributes(cluster="default", attributes=[
        {"name": "home", "value": "late", "targetId": instance}])
    create(three, "late", register(three, "late", version(late, 1)), 2, placementConstraints=[
        {"type": "memberOf", "expression": "attribute:home == late"}])
    wait_for_event(three, "late", "was unable to place a task")
    assert not late.processes()
    set_state(three, instance, "ACTIVE")
    late.wait_for(2)
    mark.wait_for(3)
    wait_stable(three, "late")
    wait_stable(three, "daemon")
    places = places_of(three, "daemon")
    assert mark.tasks() == set(places) and len(set(places.values())) == 3
    assert set(places_of(three, "late").values()) == {instance}
    assert set(places_of(three, "late")) == late.tasks()
    (back,) = [task for task, place in places.items() if place == instance]
    assert all(describe(three, back)["startedAt"] <= describe(three, task)["createdAt"]
               for task in late.tasks())


def test_a_draining_instance_gives_up_nothing_before_others_serve(three, mark, tmp_path):
    health = {"command": ["CMD-SHELL", f"test -e {tmp_path}/$SLIPWAY_TASK -o -e {tmp_path}/all"],
              "interval": 5, "retries": 10, "startPeriod": 300}
    create(three, "moves", register(three, "moves", version(mark, 1, healthCheck=health)), 6)
    before = mark.wait_for(6)
    for task in before:
        (tmp_path / task).touch()
    wait_stable(three, "moves")
    places = places_of(three, "moves")
    instance = sorted(places.values())[0]
    there = {task for task, place in places.items() if place == instance}
    assert len(there) == 2
    with Watch(mark) as watch:
        set_state(three, instance, "DRAINING")
        now = mark.wait_for(8)
        assert now >= before  # the new ones are not healthy yet
        watch.wait_for_looks()
        assert mark.tasks() == now
        (tmp_path / "all").touch()
        assert mark.wait_for(6) == now - there
    wait_stable(three, "moves")
    assert watch.fewest() >= 6 and watch.most() <= 12, watch.story()
    places = places_of(three, "moves")
    assert set(places) == mark.tasks() and instance not in places.values()

    def drained():
        told = three.describe_container_instances(containerInstances=[instance])[
            "containerInstances"][0]
        return (told["status"], told["runningTasksCount"]) == ("DRAINING", 0)

    wait_until(drained, "no task is meant to run there")


def test_a_failing_daemon_does_not_block_replacements(start_slipway, mark):
    ecs, bad = start_slipway().boto("ecs"), mark.another()
    create(ecs, "web", register(ecs, "web", version(mark, 1)), 2)
    wait_stable(ecs, "web")
    create(ecs, "bad", register(ecs, "bad", version(bad, 1, "exit 1")), None, 0, 100,
           schedulingStrategy="DAEMON")
    wait_until(lambda: service(ecs, "bad")["deployments"][0]["failedTasks"] >= 3, "it fails")
    before = mark.wait_for(2)
    gone = sorted(before)[0]
    ecs.stop_task(task=gone)
    wait_until(lambda: len(mark.tasks()) == 2 and gone not in mark.tasks(), "it is replaced")
    wait_stable(ecs, "web")
    assert len(mark.tasks() & before) == 1
    assert not [text for text in messages(ecs, "bad") if "steady state" in text]
