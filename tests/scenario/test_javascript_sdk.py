"""AWS's SDK for JavaScript, which knows the newest model, against a server: the scripts in sdk/
call every operation that slipway has, with good input and with bad."""
import json
import os
import subprocess

from conftest import DEADLINE
from ecs_requests import BUILT, REFUSED_ONLY

SCRIPTS = os.path.join(os.path.dirname(__file__), "sdk")
NAMES = sorted(name for name in os.listdir(SCRIPTS)
               if name.endswith(".mjs") and name != "client.mjs")
# These want tasks to run; for the others there is no instance, and no cluster but their own.
RUNNING = ["services.mjs", "tasks.mjs"]


def run(server, name):
    key = server.key
    ended = subprocess.run(
        ["node", os.path.join(SCRIPTS, name)], capture_output=True, text=True, check=False,
        timeout=DEADLINE * 2, stdin=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": server.home, "SLIPWAY_URL": server.url,
             "SLIPWAY_KEY": key["accessKeyId"], "SLIPWAY_SECRET": key["secretAccessKey"]})
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def test_every_operation_with_good_input_and_bad(start_slipway):
    called = {"good": set(), "bad": set()}
    for name in NAMES:
        server = start_slipway() if name in RUNNING else start_slipway("--runtime", "none")
        answer = run(server, name)
        for kind, operations in called.items():
            operations.update(answer[kind])
    assert called == {"good": set(BUILT) - set(REFUSED_ONLY), "bad": set(BUILT)}
