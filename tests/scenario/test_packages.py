"""The Debian package and the container image have everything that slipway loads, also what it loads late."""
import json
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest

from conftest import DEADLINE, slipway_program

ROOT = pathlib.Path(__file__).resolve().parents[2]
# From slipway's own list of libraries, and from those of base/late_library.h.
LIBRARIES = {"libre2": "libre2-9", "libstdc++": "libstdc++6", "libcurl": "libcurl4", "libpq": "libpq5"}
TEMPLATE = """\
kind: ConfigMap
apiVersion: v1
metadata:
  name: {{ .Release.Name }}
data:
  found: {{ regexFind "[0-9]+" "version 42" | quote }}
"""
# Nothing listens on port 1.
UNREACHABLE = {"libcurl": ["key", "list", "--server", "http://127.0.0.1:1"],
               "libpq": ["up", "--store", "postgresql://127.0.0.1:1/slipway", "--listen", "127.0.0.1:0"]}


def output(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, timeout=DEADLINE, **options).stdout


def write_chart(folder):
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    (folder / "templates" / "config.yaml").write_text(TEMPLATE)


def assert_slipway_runs(prefix, chart, state):
    """`prefix` is the command before the arguments of slipway."""
    assert 'found: "42"' in output(*prefix, "chart", "template", chart, "--name", "web")
    for library, arguments in UNREACHABLE.items():
        more = ["--state", state] if library == "libpq" else []
        done = subprocess.run([str(word) for word in [*prefix, *arguments, *more]], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=DEADLINE, check=False,
                              env={**os.environ, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
                                   "AWS_SECRET_ACCESS_KEY": "secret"})
        assert done.returncode != 0
        # The library was loaded, and could not connect.
        assert "port 1 " in done.stderr and "load library" not in done.stderr, done.stderr


def test_the_package_runs_and_names_its_libraries(tmp_path):
    output(ROOT / "tools/make-package", slipway_program(), tmp_path / "dist")
    package, = (tmp_path / "dist").glob("slipway_*.deb")
    depends = output("dpkg-deb", "--field", package, "Depends")
    assert {wanted for wanted in LIBRARIES.values()
            if wanted not in {entry.split()[0] for entry in depends.split(",")}} == set()
    output("dpkg-deb", "--extract", package, tmp_path / "root")
    write_chart(tmp_path / "chart")
    assert_slipway_runs([tmp_path / "root/usr/bin/slipway"], tmp_path / "chart", tmp_path / "state")


@pytest.mark.root  # chroot: nothing but the image's own files can be loaded
def test_the_image_has_all_libraries(tmp_path):
    path = output(sys.executable, "-B", ROOT / "tools/make-image", slipway_program(), tmp_path).strip()
    image, root = tmp_path / "image", tmp_path / "root"
    with tarfile.open(path) as archive:
        archive.extractall(image)
    entry, = json.loads((image / "manifest.json").read_text())
    layer, = entry["Layers"]
    with tarfile.open(image / layer) as archive:
        archive.extractall(root)
    files = {file.name.split(".so")[0] for file in root.rglob("*.so*")}
    assert set(LIBRARIES) <= files
    write_chart(root / "chart")
    (root / "state").mkdir()
    assert_slipway_runs(["chroot", root, "/usr/bin/slipway"], "/chart", "/state")
