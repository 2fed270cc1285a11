"""Streams of changes of a remote cluster: another slipway behind a proxy (remote_ecs.py)."""
import json
import time

import pytest

from conftest import wait_until
from remote_world import (  # pylint: disable=unused-import
    INSTANCES, POLL, new_proxy, new_world)
from fleets import refusal
from rest_requests import ask, rest_client
from test_environment_streams import Reader, Refused


def follow(world, what="tasks", **parameters):
    return Reader(world.local, what, target="remote", cluster="default", **parameters)


def open_world(world):
    """With an environment, so that its cluster is watched and known."""
    world.open()
    fleet = world.fleet()
    fleet.create(fleet.define(1))
    wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES, "its instances are counted")
    return fleet


def test_remote_tasks_are_streamed_as_they_change(world):
    fleet = open_world(world)
    by_hand = fleet.ecs.run_task(taskDefinition=fleet.define("hand"))["tasks"][0]["taskArn"]
    reader, all_of_them = follow(world, environment=fleet.name), follow(world)
    for one in (reader, all_of_them):
        wait_until(lambda one=one: one.of("position"), "the snapshot is complete")
    assert not reader.of("snapshot")
    fleet.wait_for(fleet.deploy(fleet.get()["latestVersion"]), "completed")
    wait_until(lambda: len({line["task"]["task"] for line in reader.of("updated")
                            if (line["task"]["lastStatus"], line["task"]["health"])
                            == ("RUNNING", "active")}) == INSTANCES, "all run, and are well")
    for line in reader.of("updated"):
        assert (line["task"]["environment"], line["task"]["cluster"], line["task"]["target"]) == (
            fleet.name, "default", "remote")
        assert line["task"]["environmentVersion"] == fleet.get()["activeVersion"]
    versions = [line["entityVersion"] for line in reader.of("updated")]
    assert versions == sorted(set(versions)), "in order, and none twice"
    assert by_hand in {line["task"]["taskArn"] for line in all_of_them.of("snapshot", "updated")}
    # A second one begins with what there is; one that comes back, with what it has not seen.
    second = follow(world, environment=fleet.name)
    wait_until(lambda: second.of("position"), "the snapshot is complete")
    assert sorted(line["task"]["lastStatus"] for line in second.of("snapshot")) == [
        "RUNNING"] * INSTANCES
    reader.close()
    position = reader.position()
    fleet.wait_for(fleet.deploy(fleet.update(fleet.define(2))), "completed")
    again = follow(world, environment=fleet.name, entityVersion=position)
    end = wait_until(lambda: len({line["task"]["task"] for line in second.of("updated")
                                  if line["task"]["lastStatus"] == "STOPPED"}) == INSTANCES
                     and second.position(), "the old ones have ended")

    def told(one):
        return [line for line in one.of("updated", "deleted")
                if position < line["entityVersion"] <= end]

    wait_until(lambda: told(again) == told(second), "nothing less, and nothing else")
    for one in (second, again, all_of_them):
        one.close()
    fleet.ecs.stop_task(task=by_hand)
    fleet.remove()


def test_remote_instances_are_streamed(world):
    fleet = open_world(world)
    reader = follow(world, "instances")
    wait_until(lambda: reader.of("position"), "the snapshot is complete")
    assert len(reader.of("snapshot")) == INSTANCES
    instance = fleet.instances()[0]
    fleet.ecs.put_attributes(attributes=[{"name": fleet.name, "value": "x", "targetId": instance,
                                          "targetType": "container-instance"}])
    told = wait_until(lambda: [line["instance"] for line in reader.of("updated") if {
        "name": fleet.name, "value": "x"} in line["instance"]["attributes"]], "it is reported")[0]
    assert told["target"] == "remote"
    extra = fleet.ecs.register_container_instance()["containerInstance"]["containerInstanceArn"]
    wait_until(lambda: [line for line in reader.of("updated")
                        if line["instance"]["instanceArn"] == extra], "it has come")
    fleet.ecs.deregister_container_instance(containerInstance=extra, force=True)
    gone = wait_until(lambda: reader.of("deleted"), "it has gone")
    assert [line["instance"]["instanceArn"] for line in gone] == [extra]
    reader.close()
    fleet.remove()


def test_a_stream_of_a_cluster_that_is_away_goes_on_when_it_is_back(world):
    fleet = open_world(world)
    fleet.wait_for(fleet.deploy(fleet.get()["latestVersion"]), "completed")
    reader = follow(world, environment=fleet.name)
    known = wait_until(lambda: reader.of("position"), "the snapshot is complete")[0]
    assert abs(known["observedAt"] - time.time()) < 60
    world.proxy.fault(None, "cut")
    victim = fleet.record()[0]["taskArn"]
    fleet.ecs.stop_task(task=victim)
    wait_until(lambda: fleet.get().get("stale"), "it is reported as stale")
    # A stream opened now begins with the last known state, and its age.
    late = follow(world, environment=fleet.name)
    seen = wait_until(lambda: late.of("position"), "the snapshot is complete")[0]
    assert len(late.of("snapshot")) == INSTANCES and seen["observedAt"] < time.time() - 2 * POLL
    world.proxy.heal()
    for one in (reader, late):
        wait_until(lambda one=one: [line for line in one.of("updated")
                                    if line["task"]["taskArn"] == victim
                                    and line["task"]["lastStatus"] == "STOPPED"], "it is reported")
        one.close()
    fleet.remove()


def test_a_remote_stream_that_cannot_be_resumed_gives_a_reason(world):
    fleet = open_world(world)
    reader = follow(world)
    wait_until(lambda: reader.of("position"), "the snapshot is complete")
    position = reader.position()
    for wrong in (reader.of("position")[0]["entityVersion"] - 1, position + 10 ** 6, 7):
        with pytest.raises(Refused, match="410.*EntityVersionTooOldException"):
            follow(world, entityVersion=wrong)
    world.local.kill()
    reader.close()
    world.reopen()
    fleet.reconnect()

    def begin(**parameters):
        try:
            return follow(world, **parameters)
        except Refused as refused:
            return refused.args

    # Not before the cluster was listed; and then not where the one before has ended.
    wait_until(lambda: begin(entityVersion=position) == (410, "EntityVersionTooOldException"),
               "it is too old")
    again = begin()
    wait_until(lambda: again.of("position"), "the snapshot is complete")
    assert again.position() > position
    # No environment needs the cluster any more: its replica is released, and the stream ends.
    fleet.remove()
    end = wait_until(lambda: again.of("end"), "it ends")
    assert end[0]["reason"] == "TOO_OLD"
    again.close()


def test_streams_of_a_remote_cluster_need_permission(world):
    fleet = open_world(world)
    answer = refusal(fleet.api.stream_tasks, "InvalidParameterException", 400, target="remote")
    assert "cluster" in answer["Error"]["Message"]
    for parameters in ({"target": "remote", "cluster": "other"},
                       {"target": "nowhere", "cluster": "default"}):
        refusal(fleet.api.stream_instances, "ResourceNotFoundException", 404, **parameters)
    key = ask(world.local, "POST", "/v1/keys", json.dumps(
        {"user": "x", "account": "222222222222"}).encode()).json
    refusal(rest_client(world.local, key=key).stream_tasks, "ResourceNotFoundException", 404,
            target="remote", cluster="default")
    # Of this server, by its name.
    body = fleet.api.stream_instances(target="local")["body"]
    assert json.loads(next(body.iter_lines(chunk_size=1)))["change"] == "snapshot"
    body.close()
    fleet.remove()
