"""slipway demo in a container as `docker run` starts it by default: no CAP_NET_ADMIN, Docker's seccomp
profile, the machine's kernel."""
import os
import subprocess
import sys

import pytest

from conftest import DEADLINE, slipway_program
from docker_daemon import daemon  # noqa: F401 (fixture)
from test_demo import assert_kept

pytestmark = pytest.mark.root  # dockerd

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IMAGE = "test/slipway:1"


@pytest.fixture(scope="module", name="image")
def load_image(daemon, tmp_path_factory):
    path = subprocess.run(
        [sys.executable, "-B", os.path.join(ROOT, "tools/make-image"), slipway_program(),
         str(tmp_path_factory.mktemp("image")), "--name", IMAGE],
        check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout.strip()
    with open(path, "rb") as file:
        daemon.call("POST", "/images/load", file.read(), **{"Content-Type": "application/x-tar"})
    os.unlink(path)
    return IMAGE


def run(daemon, image, user, *arguments):
    """Exit code and output of a container with the defaults of `docker run --tty=false`."""
    made = daemon.call("POST", "/containers/create",
                       {"Image": image, "User": user, "Cmd": list(arguments), "Tty": True})["Id"]
    daemon.call("POST", f"/containers/{made}/start")
    code = daemon.call("POST", f"/containers/{made}/wait", timeout=10 * DEADLINE)["StatusCode"]
    output = daemon.call("GET", f"/containers/{made}/logs?stdout=1&stderr=1")
    return code, output.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("user", ["0", "65532"], ids=["root", "ordinary"])
def test_runs_in_a_default_container(daemon, image, user):
    code, output = run(daemon, image, user, "demo", "--once")
    assert code == 0, output
    assert_kept("\n".join(line.rsplit("\033[K", 1)[-1] for line in output.splitlines()))
