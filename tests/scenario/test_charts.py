"""Charts beside Helm itself: the same text, and the same refusals."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "chart"))
import chart_cases
import function_cases
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


def test_every_function_gives_what_helm_gives(tmp_path):
    assert not function_cases.missing()
    differences = generate.compare_batch(tmp_path, list(enumerate(function_cases.BODIES)))
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("name", chart_cases.CASES)
def test_small_charts_render_as_with_helm(name, tmp_path):
    files, runs = chart_cases.CASES[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, newline="")
    for options in runs:
        same, difference = reference.compare(tmp_path, *(option.replace("{chart}", str(tmp_path)) for option in options))
        assert same, f"{options}\n{difference}"


def test_archives_render_as_folders_do(tmp_path):
    """The same text from a .tgz that Helm packed, also of one inside charts/."""
    parent = reference.CORPUS / "parent"
    assert reference.run([reference.helm(), "package", str(parent), "-d", str(tmp_path)]).returncode == 0
    archive = next(tmp_path.glob("*.tgz"))
    same, difference = reference.compare(archive, "--include-crds")
    assert same, difference
    outer = tmp_path / "outer"
    (outer / "charts").mkdir(parents=True)
    (outer / "Chart.yaml").write_text("apiVersion: v2\nname: outer\nversion: 1.0.0\n")
    archive.rename(outer / "charts" / archive.name)
    same, difference = reference.compare(outer)
    assert same, difference


def test_lint_reports_all_problems_at_once(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: bad\nversion: 1.0.0\nkubeVersion: '<1.10'\n")
    (tmp_path / "values.schema.json").write_text('{"required": ["port"]}')
    (tmp_path / "templates" / "a.yaml").write_text("a: {{ .Values.x.y.z }}\n")
    (tmp_path / "templates" / "b.yaml").write_text("b: {{ upper 5 }}\n")
    (tmp_path / "templates" / "c.yaml").write_text("c: [1\n")
    (tmp_path / "templates" / "d.yaml").write_text("fine: true\n")
    done = reference.run([reference.SLIPWAY, "chart", "lint", str(tmp_path)])
    assert done.returncode == 1
    for part in ("port", "kubeVersion", "bad/templates/a.yaml:1:", "bad/templates/b.yaml:1:6", "bad/templates/c.yaml"):
        assert part in done.stdout
    assert "d.yaml" not in done.stdout
    done = reference.run([reference.SLIPWAY, "chart", "lint", str(reference.CORPUS / "parent")])
    assert done.returncode == 0, done.stdout
