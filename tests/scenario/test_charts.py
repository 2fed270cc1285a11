"""Charts beside Helm itself: the same text, and the same refusals."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "chart"))
import generate
import helm as reference

CHARTS = sorted(path.parent for path in reference.CORPUS.glob("*/Chart.yaml"))
CASES = [(chart, ()) for chart in CHARTS] + [
    (chart, ("-f", str(values))) for chart in CHARTS for values in sorted(chart.glob("ci/*.yaml"))
]


@pytest.mark.parametrize("chart,options", CASES, ids=lambda value: getattr(value, "name", None))
def test_corpus_renders_as_helm_does(chart, options):
    same, difference = reference.compare(chart, *options)
    assert same, difference


@pytest.mark.parametrize("options", [
    ("--include-crds",),
    ("--set", "a.b=1,c={x,2},s=1.5,t=true", "--set-string", "u=1", "--set-json", 'j={"n":1000000}'),
    ("--kube-version", "1.24.3"),
    ("--kube-version", "1.10"),
    ("--api-versions", "example.com/v1"),
    ("--show-only", "templates/all.yaml"),
    ("--show-only", "templates/no-such.yaml"),
    ("--skip-tests",),
    ("--no-hooks",),
    ("--is-upgrade",),
    ("--namespace", "other"),
])
def test_options_mean_the_same(options):
    same, difference = reference.compare(reference.CORPUS / "parent", *options)
    assert same, difference


@pytest.mark.parametrize("seed", range(4))
def test_generated_templates_render_as_with_helm(seed):
    """10,000 templates in all, and at least half of them have a result."""
    rendered, differences = generate.compare(2500, seed)
    assert not differences, "\n".join(differences)
    assert rendered > 1250
