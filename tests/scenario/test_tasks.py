"""Tasks as requests and answers: what RunTask, StartTask, StopTask, DescribeTasks, ListTasks and the
protection of tasks take, refuse and say. The instances here belong to agents of which there are none, so
nothing runs; tasks that really run are in test_run.py."""
import pytest

from ecs_requests import (all_pages, arn, cli_refused, container, refused, send, send_refused)

SERVER_ARGUMENTS = ["--runtime", "none"]
NETWORK = {"awsvpcConfiguration": {"subnets": ["subnet-1", "subnet-2"]}}


@pytest.fixture(scope="module", name="ecs")
def client(slipway):
    return slipway.boto("ecs")


def resource(name, value):
    return {"name": name, "type": "INTEGER", "integerValue": value}


def make_instance(ecs, cluster, cpu=4096, memory=8192, **attributes):
    return ecs.register_container_instance(
        cluster=cluster, totalResources=[resource("CPU", cpu), resource("MEMORY", memory)],
        attributes=[{"name": "ecs.capability.task-eni"}] +
        [{"name": name, "value": value} for name, value in attributes.items()])[
            "containerInstance"]["containerInstanceArn"]


@pytest.fixture(name="cluster")
def fresh_cluster(ecs, request):
    name = request.node.name.replace("[", "-").replace("]", "")[:200]
    ecs.create_cluster(clusterName=name)
    return name


@pytest.fixture(scope="module", autouse=True)
def definitions(ecs):
    ecs.register_task_definition(family="web", containerDefinitions=[container(cpu=1024)])
    ecs.register_task_definition(family="batch", containerDefinitions=[
        container(command=["true"], environment=[{"name": "A", "value": "1"}]),
        container(name="side", essential=False)])
    ecs.register_task_definition(
        family="fargate", networkMode="awsvpc", requiresCompatibilities=["FARGATE"], cpu="256",
        memory="512", containerDefinitions=[{"name": "app", "image": "busybox"}])


def test_run_describe_list_stop(ecs, cluster):
    instance = make_instance(ecs, cluster)
    answer = ecs.run_task(cluster=cluster, taskDefinition="web", count=2, startedBy="me",
                          tags=[{"key": "a", "value": "b"}])
    assert answer["failures"] == []
    tasks = [task["taskArn"] for task in answer["tasks"]]
    assert len(set(tasks)) == 2
    for task in answer["tasks"]:
        assert task["taskArn"].startswith(arn(f"task/{cluster}/"))
        assert task["clusterArn"] == arn(f"cluster/{cluster}")
        assert task["taskDefinitionArn"] == arn("task-definition/web:1")
        assert task["containerInstanceArn"] == instance
        assert (task["lastStatus"], task["desiredStatus"]) == ("PENDING", "RUNNING")
        assert (task["cpu"], task["memory"]) == ("1024", "64")
        assert (task["group"], task["startedBy"]) == ("family:web", "me")
        assert task["launchType"] == "EC2"
        assert task["tags"] == [{"key": "a", "value": "b"}]
        assert task["overrides"]["containerOverrides"] == [{"name": "app"}]
        shown, = task["containers"]
        assert (shown["name"], shown["lastStatus"]) == ("app", "PENDING")
        assert shown["taskArn"] == task["taskArn"]
    described = ecs.describe_tasks(cluster=cluster, tasks=[tasks[0], tasks[1].split("/")[-1]])
    assert [task["taskArn"] for task in described["tasks"]] == tasks
    assert all("tags" not in task or task["tags"] == [] for task in described["tasks"])
    assert set(ecs.list_tasks(cluster=cluster)["taskArns"]) == set(tasks)
    counted, = ecs.describe_container_instances(
        cluster=cluster, containerInstances=[instance])["containerInstances"]
    assert counted["pendingTasksCount"] == 2
    left = {item["name"]: item.get("integerValue") for item in counted["remainingResources"]}
    assert (left["CPU"], left["MEMORY"]) == (4096 - 2048, 8192 - 128)
    stopped = ecs.stop_task(cluster=cluster, task=tasks[0], reason="enough")["task"]
    assert stopped["desiredStatus"] == "STOPPED"
    assert (stopped["stopCode"], stopped["stoppedReason"]) == ("UserInitiated", "enough")
    assert ecs.list_tasks(cluster=cluster)["taskArns"] == [tasks[1]]
    assert ecs.list_tasks(cluster=cluster, desiredStatus="STOPPED")["taskArns"] == [tasks[0]]
    assert ecs.list_tasks(cluster=cluster, desiredStatus="PENDING")["taskArns"] == []


def test_the_aws_command(slipway, ecs, cluster):
    make_instance(ecs, cluster)
    ran = slipway.aws("ecs", "run-task", "--cluster", cluster, "--task-definition", "batch",
                      "--overrides", '{"containerOverrides":[{"name":"app","command":["x"]}]}',
                      "--tags", "key=k,value=v").json
    task = ran["tasks"][0]["taskArn"]
    assert ran["tasks"][0]["overrides"]["containerOverrides"] == [
        {"name": "app", "command": ["x"]}, {"name": "side"}]
    told = slipway.aws("ecs", "describe-tasks", "--cluster", cluster, "--tasks", task,
                       "--include", "TAGS").json["tasks"][0]
    assert told["tags"] == [{"key": "k", "value": "v"}]
    assert slipway.aws("ecs", "list-tasks", "--cluster", cluster, "--family", "batch").json == {
        "taskArns": [task]}
    slipway.aws("ecs", "stop-task", "--cluster", cluster, "--task", task)
    cli_refused(slipway, "InvalidParameterException", "The referenced task was not found.",
                "stop-task", "--cluster", cluster, "--task", "0" * 32)
    cli_refused(slipway, "ClientException", "TaskDefinition not found.",
                "run-task", "--cluster", cluster, "--task-definition", "absent")


def test_fargate_tasks_show_no_instance(ecs, cluster):
    make_instance(ecs, cluster)
    task, = ecs.run_task(cluster=cluster, taskDefinition="fargate", launchType="FARGATE",
                         networkConfiguration=NETWORK)["tasks"]
    assert "containerInstanceArn" not in task
    assert (task["launchType"], task["platformVersion"]) == ("FARGATE", "1.4.0")
    assert task["lastStatus"] == "PROVISIONING"
    interface, = task["attachments"]
    assert (interface["type"], interface["status"]) == ("ElasticNetworkInterface", "PRECREATED")
    subnet, = [one["value"] for one in interface["details"] if one["name"] == "subnetId"]
    assert subnet in ("subnet-1", "subnet-2")


def test_failures_and_tasks_come_together(ecs, cluster):
    instance = make_instance(ecs, cluster, cpu=3072)
    answer = ecs.run_task(cluster=cluster, taskDefinition="web", count=5)
    assert len(answer["tasks"]) == 3
    assert answer["failures"] == [{"arn": instance, "reason": "RESOURCE:CPU"}] * 2


def test_no_instance_at_all(ecs, cluster):
    refused(ecs.run_task, "InvalidParameterException",
            "No Container Instances were found in your cluster.", cluster=cluster,
            taskDefinition="web")


def test_placement_is_asked_for(ecs, cluster):
    for rack in ("a", "b", "c"):
        make_instance(ecs, cluster, rack=rack)
    answer = ecs.run_task(cluster=cluster, taskDefinition="web", count=3, placementStrategy=[
        {"type": "spread", "field": "attribute:rack"}])
    assert len({task["containerInstanceArn"] for task in answer["tasks"]}) == 3
    answer = ecs.run_task(cluster=cluster, taskDefinition="web", count=2, placementConstraints=[
        {"type": "memberOf", "expression": "attribute:rack == b"}])
    assert len({task["containerInstanceArn"] for task in answer["tasks"]}) == 1
    answer = ecs.run_task(cluster=cluster, taskDefinition="web", count=4, group="apart",
                          placementConstraints=[{"type": "distinctInstance"}])
    assert len(answer["tasks"]) == 3 and len(answer["failures"]) == 1
    refused(ecs.run_task, "InvalidParameterException", cluster=cluster, taskDefinition="web",
            placementConstraints=[{"type": "memberOf", "expression": "attribute:rack =="}])
    refused(ecs.run_task, "InvalidParameterException", cluster=cluster, taskDefinition="web",
            placementStrategy=[{"type": "binpack", "field": "color"}])


@pytest.mark.parametrize("parts,parameters", [
    (["Override for container named no is not a container in the TaskDefinition."],
     {"overrides": {"containerOverrides": [{"name": "no"}]}}),
    (["Network Configuration must be provided when networkMode 'awsvpc' is specified."],
     {"taskDefinition": "fargate"}),
    (["Network Configuration is not valid"], {"networkConfiguration": NETWORK}),
    (["does not support launch_type FARGATE"], {"launchType": "FARGATE"}),
    (["namespace"], {"group": "service:web"}),
    (["startedBy"], {"startedBy": "x" * 129}),
    (["startedBy"], {"startedBy": 'quo"te'}),
    (["referenceId"], {"referenceId": "x" * 1025}),
    (["propagateTags", "SERVICE"], {"propagateTags": "SERVICE"}),
    (["count"], {"count": 11}),
    (["count"], {"count": -1}),
    (["tags"], {"tags": [{"key": f"k{i}", "value": ""} for i in range(51)]}),
    (["8192"], {"overrides": {"containerOverrides": [{"name": "app", "command": ["x" * 8192]}]}}),
    (["cpu"], {"overrides": {"cpu": "lots"}}),
    (["capacity provider"],
     {"capacityProviderStrategy": [{"capacityProvider": "absent", "weight": 1}]}),
    (["both"], {"launchType": "EC2",
                "capacityProviderStrategy": [{"capacityProvider": "FARGATE", "weight": 1}]}),
])
def test_what_is_refused_changes_nothing(ecs, parts, parameters):
    ecs.create_cluster(clusterName="refusals")
    refused(ecs.run_task, "InvalidParameterException", *parts,
            **{"cluster": "refusals", "taskDefinition": "web", **parameters})
    assert ecs.list_tasks(cluster="refusals")["taskArns"] == []


def test_inactive_definitions_do_not_run(ecs, cluster):
    make_instance(ecs, cluster)
    old = ecs.register_task_definition(family="old", containerDefinitions=[container()])[
        "taskDefinition"]["taskDefinitionArn"]
    ecs.deregister_task_definition(taskDefinition=old)
    refused(ecs.run_task, "InvalidParameterException", "TaskDefinition is inactive",
            cluster=cluster, taskDefinition=old)
    refused(ecs.run_task, "ClientException", "TaskDefinition not found.", cluster=cluster,
            taskDefinition="old")


def test_client_tokens(slipway, ecs, cluster):
    make_instance(ecs, cluster)
    request = {"cluster": cluster, "taskDefinition": "batch", "count": 2, "clientToken": "t~1"}
    first = send(slipway, "RunTask", request).json["tasks"]
    again = send(slipway, "RunTask", dict(reversed(request.items()))).json["tasks"]
    assert [task["taskArn"] for task in again] == [task["taskArn"] for task in first]
    answer = send(slipway, "RunTask", {**request, "startedBy": "other"})
    assert (answer.status, answer.json["__type"]) == (400, "ConflictException")
    assert set(answer.json["resourceIds"]) == {task["taskArn"] for task in first}
    assert len(ecs.list_tasks(cluster=cluster)["taskArns"]) == 2
    send_refused(slipway, "RunTask", {**request, "clientToken": "x" * 65},
                 "InvalidParameterException", "clientToken")
    send_refused(slipway, "RunTask", {**request, "clientToken": "é"},
                 "InvalidParameterException", "clientToken")


def test_start_task(ecs, cluster):
    here = make_instance(ecs, cluster, cpu=2048)
    answer = ecs.start_task(cluster=cluster, taskDefinition="web", referenceId="one",
                            containerInstances=[here, "absent"])
    task, = answer["tasks"]
    assert task["containerInstanceArn"] == here
    assert answer["failures"] == [
        {"arn": arn(f"container-instance/{cluster}/absent"), "reason": "MISSING"}]
    again, = ecs.start_task(cluster=cluster, taskDefinition="web", referenceId="one",
                            containerInstances=[here.split("/")[-1]])["tasks"]
    assert again["taskArn"] == task["taskArn"]
    ecs.start_task(cluster=cluster, taskDefinition="web", containerInstances=[here])
    answer = ecs.start_task(cluster=cluster, taskDefinition="web", containerInstances=[here])
    assert (answer["tasks"], answer["failures"]) == (
        [], [{"arn": here, "reason": "RESOURCE:CPU"}])
    refused(ecs.start_task, "InvalidParameterException", "containerInstances", cluster=cluster,
            taskDefinition="web", containerInstances=["x"] * 11)


def test_filters_and_pages(ecs, cluster):
    instance = make_instance(ecs, cluster, cpu=1 << 20, memory=1 << 20)
    for _ in range(13):
        ecs.run_task(cluster=cluster, taskDefinition="batch", count=10, startedBy="pages/1")
    ecs.run_task(cluster=cluster, taskDefinition="web", count=3)
    arns, sizes = all_pages(ecs.list_tasks, "taskArns", cluster=cluster)
    assert (len(arns), len(set(arns)), sizes) == (133, 133, [100, 33])
    for filters, count in (({"family": "batch"}, 130), ({"family": "web"}, 3),
                           ({"startedBy": "pages/1"}, 130), ({"startedBy": "pages"}, 0),
                           ({"containerInstance": instance}, 133), ({"launchType": "EC2"}, 133),
                           ({"launchType": "FARGATE"}, 0), ({"desiredStatus": "STOPPED"}, 0)):
        arns, sizes = all_pages(ecs.list_tasks, "taskArns", cluster=cluster, maxResults=50,
                                **filters)
        assert (len(arns), len(set(arns))) == (count, count), filters
        assert max(sizes) <= 50
    refused(ecs.list_tasks, "ServiceNotFoundException", cluster=cluster, serviceName="absent")
    refused(ecs.list_tasks, "InvalidParameterException", "startedBy", cluster=cluster,
            startedBy="x", family="web")
    refused(ecs.list_tasks, "InvalidParameterException", "maxResults", cluster=cluster,
            maxResults=101)


def test_described_tasks_are_of_the_cluster(ecs, cluster):
    make_instance(ecs, cluster)
    task = ecs.run_task(cluster=cluster, taskDefinition="web")["tasks"][0]["taskArn"]
    ecs.create_cluster(clusterName="secondary")
    answer = ecs.describe_tasks(cluster="secondary", tasks=[task, "0" * 32])
    assert answer["tasks"] == []
    assert answer["failures"] == [
        {"arn": task, "reason": "MISSING"},
        {"arn": arn("task/secondary/" + "0" * 32), "reason": "MISSING"}]
    refused(ecs.describe_tasks, "InvalidParameterException", "Tasks cannot be empty.",
            cluster=cluster, tasks=[])
    refused(ecs.describe_tasks, "InvalidParameterException", "tasks", cluster=cluster,
            tasks=["x"] * 101)
    refused(ecs.describe_tasks, "ClusterNotFoundException", cluster="absent", tasks=["x"])


def test_only_tasks_of_services_are_protected(ecs, cluster):
    make_instance(ecs, cluster)
    task = ecs.run_task(cluster=cluster, taskDefinition="web")["tasks"][0]["taskArn"]
    for answer in (ecs.update_task_protection(cluster=cluster, tasks=[task, "absent"],
                                              protectionEnabled=True),
                   ecs.get_task_protection(cluster=cluster, tasks=[task, "absent"])):
        assert answer["protectedTasks"] == []
        assert [(one["arn"], one["reason"]) for one in answer["failures"]] == [
            (task, "TASK_NOT_VALID"), (arn(f"task/{cluster}/absent"), "MISSING")]
    for minutes in (0, 2881):
        refused(ecs.update_task_protection, "InvalidParameterException", "expiresInMinutes",
                cluster=cluster, tasks=[task], protectionEnabled=True, expiresInMinutes=minutes)
    refused(ecs.update_task_protection, "InvalidParameterException", "tasks", cluster=cluster,
            tasks=["x"] * 11, protectionEnabled=True)


def test_tags_of_tasks(ecs, cluster):
    make_instance(ecs, cluster)
    ecs.register_task_definition(family="tagged-task", containerDefinitions=[container()],
                                 tags=[{"key": "of", "value": "definition"}])
    task = ecs.run_task(cluster=cluster, taskDefinition="tagged-task", enableECSManagedTags=True,
                        propagateTags="TASK_DEFINITION", tags=[{"key": "a", "value": "1"}])[
                            "tasks"][0]["taskArn"]
    assert ecs.list_tags_for_resource(resourceArn=task)["tags"] == [
        {"key": "of", "value": "definition"}, {"key": "a", "value": "1"},
        {"key": "aws:ecs:clusterName", "value": cluster}]
    ecs.tag_resource(resourceArn=task, tags=[{"key": "a", "value": "2"}])
    ecs.untag_resource(resourceArn=task, tagKeys=["of"])
    told, = ecs.describe_tasks(cluster=cluster, tasks=[task], include=["TAGS"])["tasks"]
    assert told["tags"] == [{"key": "a", "value": "2"},
                            {"key": "aws:ecs:clusterName", "value": cluster}]
    ecs.stop_task(cluster=cluster, task=task)
    told, = ecs.describe_tasks(cluster=cluster, tasks=[task], include=["TAGS"])["tasks"]
    assert {"key": "a", "value": "2"} in told["tags"]


def test_tasks_survive_a_restart(start_slipway):
    server = start_slipway()
    ecs = server.boto("ecs")
    ecs.create_cluster()
    make_instance(ecs, "default")
    ecs.register_task_definition(family="web", containerDefinitions=[container()])
    request = {"taskDefinition": "web", "clientToken": "kept"}
    task = send(server, "RunTask", request).json["tasks"][0]["taskArn"]
    before = ecs.describe_tasks(tasks=[task], include=["TAGS"])["tasks"]
    server.kill()
    server = start_slipway(state=server.state)
    ecs = server.boto("ecs")
    assert ecs.describe_tasks(tasks=[task], include=["TAGS"])["tasks"] == before
    assert send(server, "RunTask", request).json["tasks"][0]["taskArn"] == task
    assert ecs.list_tasks(family="web")["taskArns"] == [task]
