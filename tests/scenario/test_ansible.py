"""Ansible's modules for ECS, from nothing to a stable service to nothing, unmodified."""
import json
import os
import subprocess

import pytest

from conftest import DEADLINE, REGION
from programs import LONG, container
# pylint: disable=unused-import
from test_run import mark

SERVICE = {
    "name": "web", "cluster": "default", "task_definition": "ansible-web:1",
    "desired_count": 2, "launch_type": "EC2", "scheduling_strategy": "REPLICA",
    "deployment_configuration": {"minimum_healthy_percent": 50, "maximum_percent": 200},
}


def task(title, module, register=None, **arguments):
    return {"name": title, f"community.aws.{module}": arguments, **({"register": register} if register else {})}


def playbook(image):
    definition = {"family": "ansible-web", "containers": [image], "launch_type": "EC2"}
    return [{
        "hosts": "localhost", "gather_facts": False, "tasks": [
            task("cluster", "ecs_cluster", name="ansible", state="present"),
            task("definition", "ecs_taskdefinition", "definition", state="present", **definition),
            task("the same definition", "ecs_taskdefinition", "same", state="present", **definition),
            {"assert": {"that": ["definition.changed", "not same.changed"]}},
            task("service", "ecs_service", "service", state="present", **SERVICE),
            {"name": "stable", "community.aws.ecs_service_info": {
                "cluster": "default", "service": "web", "details": True, "events": True}, "register": "info",
             "until": "info.services[0].runningCount == 2", "retries": DEADLINE, "delay": 1},
            task("the same service", "ecs_service", "same_service", state="present", **SERVICE),
            {"assert": {"that": ["service.changed", "not same_service.changed"]}},
            task("scaled to none", "ecs_service", state="present", **{**SERVICE, "desired_count": 0}),
            task("service gone", "ecs_service", "gone", state="absent", name="web", cluster="default",
                 force_deletion=True),
            {"assert": {"that": ["gone.changed"]}},
            task("definition gone", "ecs_taskdefinition", state="absent", containers=[],
                 arn="{{ definition.taskdefinition.taskDefinitionArn }}"),
            task("cluster gone", "ecs_cluster", name="ansible", state="absent"),
        ]}]


def test_ansible_from_nothing_to_stable_to_deleted(start_slipway, mark, tmp_path):
    server = start_slipway()
    play = playbook(container(mark, LONG, name="web"))
    for step in play[0]["tasks"]:
        for name, arguments in step.items():
            if name.startswith("community.aws."):
                arguments.update(endpoint_url=server.url, region=REGION)
    path = tmp_path / "play.json"  # JSON is YAML
    path.write_text(json.dumps(play))
    environment = {**server.aws_environment(), "ANSIBLE_LOCALHOST_WARNING": "False", "ANSIBLE_NOCOLOR": "1"}
    done = subprocess.run(
        ["ansible-playbook", "-i", "localhost,", "-c", "local", "-e", "ansible_python_interpreter=/usr/bin/python3",
         str(path)], env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=DEADLINE * 5, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ecs = server.boto("ecs")
    assert ecs.list_task_definitions(familyPrefix="ansible-web")["taskDefinitionArns"] == []
    assert ecs.describe_clusters(clusters=["ansible"])["clusters"][0]["status"] == "INACTIVE"
