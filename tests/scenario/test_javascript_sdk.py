"""AWS's SDK for JavaScript, which knows the newest models, against a server: the scripts in sdk/
call every operation that slipway has, with good input and with bad."""
import json
import os
import subprocess

import pytest

import cloudmap_requests
import ecs_requests
import elb_requests
from conftest import DEADLINE

SCRIPTS = os.path.join(os.path.dirname(__file__), "sdk")
SHARED = ["client.mjs", "harness.mjs", "newest_model.mjs"]

# Of each service its scripts, what slipway does of it, and what of that has no good input.
SERVICES = {
    "ecs": (["capacity_providers.mjs", "clusters.mjs", "container_instances.mjs", "services.mjs",
             "tags_and_settings.mjs", "task_definitions.mjs", "tasks.mjs"],
            ecs_requests.BUILT, ecs_requests.REFUSED_ONLY),
    "servicediscovery": (["cloudmap.mjs"], cloudmap_requests.OPERATIONS,
                         cloudmap_requests.REFUSED_ONLY),
    "elasticloadbalancing": (["listeners.mjs", "load_balancers.mjs"], elb_requests.BUILT,
                             elb_requests.REFUSED_ONLY),
}
# These want tasks to run; for the others there is no instance, and no cluster but their own.
RUNNING = ["services.mjs", "tasks.mjs"]
# And these want certificates.
CERTIFIED = ["listeners.mjs"]


def arguments(name, folder):
    if name in RUNNING:
        return []
    if name not in CERTIFIED:
        return ["--runtime", "none"]
    for certificate in ("first", "second"):
        elb_requests.write_certificate(folder, certificate)
    return ["--runtime", "none", "--certificates", folder]


def run(server, name):
    key = server.key
    ended = subprocess.run(
        ["node", os.path.join(SCRIPTS, name)], capture_output=True, text=True, check=False,
        timeout=DEADLINE * 2, stdin=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": server.home, "SLIPWAY_URL": server.url,
             "SLIPWAY_KEY": key["accessKeyId"], "SLIPWAY_SECRET": key["secretAccessKey"]})
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize("service", SERVICES)
def test_every_operation_with_good_input_and_bad(start_slipway, tmp_path, service):
    scripts, built, refused_only = SERVICES[service]
    called = {"good": set(), "bad": set()}
    for name in scripts:
        answer = run(start_slipway(*arguments(name, tmp_path)), name)
        for kind, operations in called.items():
            operations.update(answer[kind])
    assert called == {"good": set(built) - set(refused_only), "bad": set(built)}


def test_every_script_is_run():
    named = [name for scripts, _, _ in SERVICES.values() for name in scripts]
    assert sorted(named + SHARED) == sorted(os.listdir(SCRIPTS))
