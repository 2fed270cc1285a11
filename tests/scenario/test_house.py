"""The house itself: the checks that guard the sources, the tools that run tests, and the README."""
import glob
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import DEADLINE, SOURCE, Servers, slipway_program, wait_until


def run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=DEADLINE * 3, check=False, **options)


def tool(name):
    return os.path.join(SOURCE, "tools", name)


# ---- includes and names ----

@pytest.fixture
def sources(tmp_path):
    """A copy of the sources that a test may spoil."""
    shutil.copytree(os.path.join(SOURCE, "src"), tmp_path / "src")
    return tmp_path


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def test_sources_respect_the_ladder():
    checked = run(tool("check-includes"), os.path.join(SOURCE, "src"))
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("include, complaint", [
    ('#include "store/store.h"', 'base includes "store/store.h", but store is above it'),
    ('  #  include "cli/command.h"', 'base includes "cli/command.h", but cli is above it'),
    ('#include "err.h"', '"err.h" is not a path from src/'),
    ('#include "../store/store.h"', '"../store/store.h" is not a path from src/'),
    ('#include "nowhere/nothing.h"', "folder nowhere is not in src/ladder.txt"),
])
def test_upward_include_is_refused(sources, include, complaint):
    (sources / "src/base/intruder.c").write_text(f"/* first line */\n{include}\n")
    checked = run(tool("check-includes"), str(sources / "src"))
    assert checked.returncode == 1
    assert checked.stderr.startswith("src/base/intruder.c:2: ")
    assert complaint in checked.stderr


def test_downward_include_is_allowed(sources):
    (sources / "src/cli/newcomer.h").write_text('#include "base/err.h"\n#include <stdio.h>\n')
    assert run(tool("check-includes"), str(sources / "src")).returncode == 0


def test_upward_include_stops_the_build(sources):
    """meson runs the check: a spoiled tree does not compile, whatever else is right with it."""
    for name in ("meson.build", "meson_options.txt"):
        shutil.copy(os.path.join(SOURCE, name), sources)
    for folder in ("api", "deploy", "tools", "tests/bench", "tests/fuzz", "tests/kubernetes/parts",
                   "tests/model"):
        shutil.copytree(os.path.join(SOURCE, folder), sources / folder)
    configured = run("meson", "setup", str(sources / "build"), str(sources))
    assert configured.returncode == 0, configured.stdout
    assert run("ninja", "-C", str(sources / "build"), "check-includes").returncode == 0
    append(sources / "src/base/err.h", '#include "store/store.h"\n')
    built = run("ninja", "-C", str(sources / "build"), "check-includes")
    assert built.returncode != 0
    assert 'base includes "store/store.h", but store is above it' in built.stdout


# ---- seeded bugs ----

SEEDED_BUG = re.compile(r'X\((\w+), "([^"]+)",\s*(?:\\\s*)?"([^"]+)"\)')


def seeded_bugs():
    """(name, description) of each bug in the tables of the simulations."""
    found = []
    for path in ("environment/model/bug.h", "pipeline/bug.h", "sim/service/service_simulation.h",
                 "sim/toy/toy_simulation.h"):
        with open(os.path.join(SOURCE, "src", path), encoding="utf-8") as file:
            rows = SEEDED_BUG.findall(file.read())
        assert len(rows) > 5, path
        found += [(name, text) for constant, name, text in rows if constant != "NONE"]
    return found


def simulator():
    return os.path.join(os.path.dirname(slipway_program()), "slipway-sim")


def test_seeded_bugs_are_in_the_simulator_only():
    with open(slipway_program(), "rb") as file:
        product = file.read()
    with open(simulator(), "rb") as file:
        simulations = file.read()
    sources_with_tables = run("grep", "-rlE", r"X\(NONE, \"none\", \"no deliberate bug\"\)", "src", cwd=SOURCE)
    assert len(sources_with_tables.stdout.split()) == 4, "seeded_bugs() does not read every table"
    descriptions = [text.encode() for _, text in seeded_bugs()]
    assert [text for text in descriptions if text + b"\0" in product] == []
    assert [text for text in descriptions if text + b"\0" not in simulations] == []


def test_slipway_sim_starts_the_simulator():
    listed = run(slipway_program(), "sim", "--help").stdout
    assert listed == run(simulator(), "--help").stdout
    assert [name for name, _ in seeded_bugs() if name not in listed] == []
    passed = run(slipway_program(), "sim", "toy", "--seeds", "1-3")
    assert (passed.returncode, passed.stdout) == (0, "3 passed, 0 failed\n")
    broken = run(slipway_program(), "sim", "toy", "--seeds", "1-100", "--bug", "skip-intent")
    assert broken.returncode == 1 and ", 0 failed" not in broken.stdout


def test_slipway_sim_without_the_simulator(tmp_path):
    shutil.copy(slipway_program(), tmp_path / "slipway")
    failed = run(str(tmp_path / "slipway"), "sim", "toy")
    assert failed.returncode == 1
    assert failed.stderr == ("slipway: start slipway-sim, which must be in the same folder as slipway: "
                             "No such file or directory\n")
    assert run(str(tmp_path / "slipway"), "sim", "--help").stdout.startswith("Usage: slipway sim ")


@pytest.fixture
def layered(tmp_path):
    """A small tree whose folder ecs is divided into subfolders, for planted offences."""
    for name, text in {
            "ladder.txt": "base\necs\n",
            "base/err.h": "",
            "ecs/layers.txt": "# lowest first\nrecord\ntask\n",
            "ecs/record/kind.h": '#include "base/err.h"\n',
            "ecs/record/kind_test.c": '#include "ecs/test_server.h"\n#include "ecs/task/task.h"\n',
            "ecs/task/task.h": '#include "ecs/record/kind.h"\n',
            "ecs/operations.c": '#include "ecs/task/task.h"\n#include "ecs/record/kind.h"\n',
            "ecs/test_server.h": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_includes_of_lower_subfolders_are_allowed(layered):
    checked = run(tool("check-includes"), str(layered))
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("name, text, complaint", [
    ("ecs/record/planted.c", '#include "ecs/task/task.h"\n',
     'src/ecs/record/planted.c:1: record includes "ecs/task/task.h", but task is above it'),
    ("ecs/task/planted.c", '\n#include "ecs/ecs.h"\n',
     'src/ecs/task/planted.c:2: task includes "ecs/ecs.h", but . is above it'),
    ("ecs/task/planted.c", '#include "ecs/other/other.h"\n',
     '"ecs/other/other.h": subfolder other is not in layers.txt'),
    ("ecs/task/planted.c", '#include "ecs/test_server.h"\n', "is for tests only"),
    ("ecs/other/other.h", "", "src/ecs/other: not in src/ecs/layers.txt"),
    ("ecs/layers.txt", "record\ntask\nmissing\n",
     "src/ecs/layers.txt: there is no subfolder missing"),
    ("ecs/layers.txt", ".\nrecord\ntask\n",
     'src/ecs/operations.c:1: . includes "ecs/task/task.h", but task is above it'),
])
def test_include_of_a_higher_subfolder_is_refused(layered, name, text, complaint):
    (layered / name).parent.mkdir(exist_ok=True)
    (layered / name).write_text(text)
    checked = run(tool("check-includes"), str(layered))
    assert checked.returncode == 1
    assert complaint in checked.stderr


def test_subfolder_with_too_many_files_is_refused(layered):
    for number in range(39):
        (layered / f"ecs/task/planted_{number}_test.c").write_text("")
    assert run(tool("check-includes"), str(layered)).returncode == 0
    (layered / "ecs/task/planted.h").write_text("")
    checked = run(tool("check-includes"), str(layered))
    assert checked.returncode == 1
    assert checked.stderr == "src/ecs/task: 41 files (limit 40); divide it\n"


@pytest.fixture
def divided(tmp_path):
    """A small tree that tools/check-layers accepts, for planted offences."""
    for name, text in {
            "base/types.h": "typedef void notify_function(void *context);\n",
            "delivery/observe/observe.h":
                "struct observe_config {\n\tint poll_ms; /* not int (*get)(void) */\n};\n"
                "int observe_all(int (*each)(void *context), notify_function *notify);\n",
            "environment/decide/plan.c": '#include "base/types.h"\n/* No store_transaction. */\n',
            "environment/decide/plan_test.c": '#include "aws/call.h"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_modules_do_what_their_place_allows():
    checked = run(tool("check-layers"), os.path.join(SOURCE, "src"))
    assert checked.returncode == 0, checked.stderr


def test_what_a_place_allows_is_accepted(divided):
    checked = run(tool("check-layers"), str(divided))
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("name, text, complaint", [
    ("delivery/observe/observe.h", "struct config {\n\tint fine;\n\tint (*changed)(void);\n};\n",
     "src/delivery/observe/observe.h:3: 'changed' is a function pointer"),
    ("delivery/observe/observe.h", "struct config {\n\tstruct {\n\t\tvoid\n\t\t(*all[2])(int);\n\t} x;\n};\n",
     "src/delivery/observe/observe.h:4: 'all' is a function pointer"),
    ("delivery/observe/observe.h", "struct config {\n\tnotify_function *notify;\n};\n",
     "src/delivery/observe/observe.h:2: 'notify' is a function pointer"),
    ("environment/decide/planted.c", '\n#include "aws/call.h"\n',
     "src/environment/decide/planted.c:2: names 'aws/call.h'"),
    ("environment/decide/planted.c", '#include "control/claims.h"\n',
     "src/environment/decide/planted.c:1: names 'control/claims.h'"),
    ("environment/decide/planted.h", "int plan(struct store_transaction *transaction);\n",
     "src/environment/decide/planted.h:1: names 'store_transaction'"),
])
def test_what_a_place_forbids_is_refused(divided, name, text, complaint):
    (divided / name).write_text(text)
    checked = run(tool("check-layers"), str(divided))
    assert checked.returncode == 1
    assert complaint in checked.stderr
    assert checked.stderr.count("\n") == 1


def test_names_say_something():
    checked = run(tool("check-names"))
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("name, complaint", [
    ("utils.c", "'utils' does not say what the file is for"),
    ("string_helpers.h", "'helpers' does not say what the file is for"),
    ("CamelCase.c", "file names are lower case words joined by _"),
    ("forgotten_test.c", "not in src/base/meson.build"),
])
def test_bad_name_is_refused(sources, name, complaint):
    (sources / "src/base" / name).write_text("")
    checked = run(tool("check-names"), str(sources))
    assert checked.returncode == 1
    assert f"src/base/{name}: " in checked.stderr
    assert complaint in checked.stderr


def test_no_two_files_define_one_symbol():
    checked = run(tool("check-symbols"), os.path.dirname(slipway_program()))
    assert (checked.returncode, checked.stderr) == (0, "")


def test_symbol_defined_twice_is_refused(tmp_path):
    """The linker takes either one in silence: a call of one module reached another's function."""
    for library, argument in (("chart", "int"), ("proxy", "const char *")):
        folder = tmp_path / f"libslipway_{library}.a.p"
        folder.mkdir()
        source = folder / "check.c"
        source.write_text(f"int certificate_check({argument} value);\n"
                          f"int certificate_check({argument} value) {{ return !value; }}\n"
                          "static int mine(void) { return 0; }\nint (*unused)(void);\n"
                          f"int use_{library}(void) {{ return mine(); }}\n".replace("unused", library))
        compiled = run("cc", "-c", str(source), "-o", str(folder / f"{library}.c.o"))
        assert compiled.returncode == 0, compiled.stderr
    checked = run(tool("check-symbols"), str(tmp_path))
    assert checked.returncode == 1
    assert checked.stderr == "certificate_check: defined in chart.c.o, proxy.c.o\n"


def test_words_are_those_of_the_field():
    checked = run(tool("check-words"))
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("name, text, complaint", [
    ("src/base/planted.c", "/* Fine. */\nint crew_size;\n", "2: 'crew_size': not 'crew'"),
    ("src/base/planted.c", "/* Fine.\n * Nobody waits. */\n", "2: not 'Nobody'"),
    ("src/base/planted.c", "/* What stays. */\n", "1: a comment begins with 'What'"),
    ("src/base/planted.c", "/* Whose it is. */\n", "1: a comment begins with 'Whose'"),
    ("src/base/planted.c", "int size; /* what it holds */\n", "1: a comment begins with 'what'"),
    ("src/base/planted.c", "\n/* ---- what is sent ---- */\n", "2: a comment begins with 'what'"),
    ("src/base/planted.c", "/* the one that waits */\n", "1: a comment begins with 'the one that'"),
    ("tools/planted.py", "# Fine,\n# what follows continues it.\n\n# What comes.\n", "4: a comment begins with 'What'"),
    ("tools/planted.py", 'def f():\n    """Whatever."""\n', "2: a comment begins with 'Whatever'"),
    ("deploy/planted.yaml", "a: 1\n  # Whatever.\n", "2: a comment begins with 'Whatever'"),
    ("src/base/planted.c", "/* It goes on. */\n", "1: not 'goes on'"),
    ("docs/planted.md", "It lists what is there.\n", "1: not 'what is there'"),
    ("docs/planted.md", "No news.\n", "1: not 'news'"),
    ("src/base/planted.c", 'const char *text = "is told";\n', "1: not 'told'"),
    ("src/base/rehearsal.h", "", "'rehearsal': not 'rehearsal'"),
    ("docs/planted.md", "Fine.\n\nIt was mended.\n", "3: not 'mended'"),
    ("deploy/planted.yaml", "# It is told.\n", "1: not 'told'"),
    ("tools/planted", "#!/bin/sh\n# It is told.\n", "2: not 'told'"),
    ("tools/planted", "#!/usr/bin/python3\nprint('it is told')\n", "2: not 'told'"),
    ("tests/scenario/test_planted.py", "def test_a_limit_is_told():\n\tpass\n",
     "1: 'test_a_limit_is_told': not 'told'"),
])
def test_banned_word_is_refused(tmp_path, name, text, complaint):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text)
    checked = run(tool("check-words"), str(tmp_path))
    assert checked.returncode == 1
    assert checked.stderr.startswith(name)
    assert complaint in checked.stderr


def test_banned_word_with_a_reason_is_allowed(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/words-allowed.txt").write_text("docs/*: told: a quotation\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/quotation.md").write_text("Told you so.\n")
    assert run(tool("check-words"), str(tmp_path)).returncode == 0


# ---- counting ----

def test_unit_tests_are_counted_one_by_one(tmp_path):
    log = tmp_path / "log.json"
    log.write_text(
        r'{"name": "good", "result": "OK", "returncode": 0, "stdout": "1..2\nok 1 - a\nok 2 - b\n"}'
        "\n"
        r'{"name": "bad", "result": "FAIL", "returncode": 1,'
        r' "stdout": "1..2\nok 1 - c\nnot ok 2 - d\n# why\n"}'
        "\n"
        r'{"name": "crashed", "result": "FAIL", "returncode": -6, "stdout": "1..9\nok 1 - e\n"}'
        "\n"
        r'{"name": "empty", "result": "OK", "returncode": 0, "stdout": ""}'
        "\n")
    lines = run(tool("test-report"), "unit", str(log)).stdout.splitlines()
    assert lines[0] == "4 3"
    assert "bad: d" in lines
    assert "crashed: fail, exit code -6 after 1 tests" in lines
    assert "empty: ran no test" in lines


def test_scenario_tests_are_counted_and_a_skip_is_a_failure(tmp_path):
    log = tmp_path / "results.xml"
    log.write_text(
        '<testsuites><testsuite><testcase classname="m" name="good"/>'
        '<testcase classname="m" name="bad"><failure message="x">E   assert 1 == 2</failure>'
        '</testcase><testcase classname="m" name="skipped"><skipped message="later"/></testcase>'
        '<testcase classname="m" name="teardown"/>'
        '<testcase classname="m" name="teardown"><error message="x">no</error></testcase>'
        '</testsuite></testsuites>')
    lines = run(tool("test-report"), "junit", str(log)).stdout.splitlines()
    assert lines[0] == "1 3"
    assert lines[1:] == ["m::bad", "    E   assert 1 == 2", "m::skipped", "    later",
                         "m::teardown", "    no"]


def test_a_run_that_left_nothing_is_a_failure(tmp_path):
    for kind in ("unit", "junit"):
        report = run(tool("test-report"), kind, str(tmp_path / "missing"))
        assert report.stdout == "0 1\nno test was run\n"


# ---- servers for tests ----

PRETENDER = """#!/usr/bin/python3
import signal, sys, time
def end(*_):
    sys.stderr.write({last_words!r})
    sys.exit({code})
signal.signal(signal.SIGTERM, end)
print("slipway listens on http://127.0.0.1:1", flush=True)
while {lives}:
    time.sleep(0.01)
sys.exit(5)
"""


@pytest.mark.parametrize("last_words, code, lives, complaint", [
    ("", 0, True, None),
    ("", 1, True, "slipway ended with 1"),
    ("WARNING: ThreadSanitizer: data race", 0, True, "a sanitizer reports"),
    ("==1==ERROR: LeakSanitizer: detected memory leaks", 99, True, "a sanitizer reports"),
    ("a.c:1:2: runtime error: overflow", 0, True, "a sanitizer reports"),
    ("", 0, False, "slipway died by itself with 5"),
])
def test_a_server_that_ends_badly_fails_its_test(monkeypatch, tmp_path, last_words, code, lives,
                                                 complaint):
    program = tmp_path / "slipway"
    program.write_text(PRETENDER.format(last_words=last_words, code=code, lives=lives))
    program.chmod(0o755)
    monkeypatch.setenv("SLIPWAY_BIN", str(program))
    servers = Servers()
    server = servers.start()
    if not lives:
        wait_until(lambda: server.process.poll() is not None, "the pretender has ended")
    if complaint is None:
        servers.end()
    else:
        with pytest.raises((AssertionError, pytest.fail.Exception), match=complaint):
            servers.end()
    assert server.process.poll() is not None
    assert not os.path.exists(servers.folder)


def test_a_server_that_does_not_start_says_why(monkeypatch, tmp_path):
    program = tmp_path / "slipway"
    program.write_text("#!/bin/sh\necho no port is free >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("SLIPWAY_BIN", str(program))
    servers = Servers()
    with pytest.raises(pytest.fail.Exception, match="ended with 3(.|\n)*no port is free"):
        servers.start()
    servers.end()
    assert not os.path.exists(servers.folder)


# ---- PostgreSQL for tests ----

def folder_of(address):
    return address.split("host=")[1]


def test_with_postgres_gives_a_durable_server_and_removes_it():
    done = run(tool("with-postgres"), "sh", "-c",
               'psql -At -d "$SLIPWAY_TEST_POSTGRES" -c "SHOW fsync"; echo $SLIPWAY_TEST_POSTGRES; '
               'exit 7')
    assert done.returncode == 7, done.stderr
    fsync, address = done.stdout.split()
    assert fsync == "on"
    assert not os.path.exists(folder_of(address))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_with_postgres_removes_its_server_when_it_is_ended(number):
    with subprocess.Popen([tool("with-postgres"), "sh", "-c",
                           'echo $SLIPWAY_TEST_POSTGRES; exec sleep 1000'],
                          stdout=subprocess.PIPE, text=True) as runner:
        folder = folder_of(runner.stdout.readline().strip())
        with open(os.path.join(folder, "data/postmaster.pid"), encoding="utf-8") as file:
            postmaster = int(file.readline())
        runner.send_signal(number)
        assert runner.wait(DEADLINE * 3) != 0
    assert not os.path.exists(folder)
    wait_until(lambda: not os.path.exists(f"/proc/{postmaster}"), "PostgreSQL has ended")


# ---- the command ./dev ----

def test_dev_helps_with_every_command():
    overview = run("./dev", "help", cwd=SOURCE)
    assert overview.returncode == 0
    commands = re.findall(r"^  (\w+)  ", overview.stdout, re.MULTILINE)
    assert commands == "up build test bench kubernetes fuzz sim lint package image clean".split()
    for command in commands:
        told = run("./dev", command, "--help", cwd=SOURCE)
        assert told.returncode == 0
        assert told.stdout.startswith(f"usage: ./dev {command}")


DEV_UP_TOOLS = {
    "dpkg-query": "",
    "sudo": 'exec "$@"',
    "apt-get": 'echo "apt-get $*"',
    "meson": 'mkdir -p "$2"; : >"$2/build.ninja"',
    "ninja": 'printf "ninja: Entering directory\n[1/2] cc a.c\na.c:1: warning\n[2/2] link\n"; exit "$NINJA_ENDS"',
}


@pytest.fixture
def bare_machine(tmp_path):
    """dev and its package lists, with a PATH on which nothing is installed; what it calls instead prints its arguments."""
    shutil.copytree(os.path.join(SOURCE, "packages"), tmp_path / "packages")
    shutil.copy(os.path.join(SOURCE, "dev"), tmp_path)
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, body in DEV_UP_TOOLS.items():
        (commands / name).write_text(f"#!/bin/bash\n{body}\n")
        (commands / name).chmod(0o755)
    for name in ("bash", "dirname", "env", "grep", "mkdir", "sed", "sort", "tail"):
        (commands / name).symlink_to(shutil.which(name))
    program = tmp_path / "build/slipway"
    program.parent.mkdir()
    program.write_text('#!/bin/bash\necho "runs slipway $*"\n')
    program.chmod(0o755)
    return tmp_path


def dev_up(folder, ninja_ends):
    return run(folder / "dev", "up", "--ephemeral", cwd=folder,
               env={"PATH": str(folder / "bin"), "HOME": str(folder), "NINJA_ENDS": str(ninja_ends)})


def test_dev_up_installs_what_the_readme_uses_and_shows_the_build(bare_machine):
    done = dev_up(bare_machine, 0)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "runs slipway up --ephemeral\n"
    installed = re.search(r"^apt-get .* install .*$", done.stderr, re.MULTILINE).group(0).split()
    assert {"awscli", "curl", "build-essential", "meson"} <= set(installed)
    assert "configuring build\nbuilding build: [1/2] cc a.c\na.c:1: warning\n" in done.stderr
    failed = dev_up(bare_machine, 1)
    assert failed.returncode == 1 and failed.stdout == ""


@pytest.mark.parametrize("arguments, complaint", [
    (["bulid"], "dev: no command bulid"),
    (["test", "untit"], "dev: no phase untit; there are: build-clang unit"),
    (["build", "--fast"], "dev: build does not know --fast"),
    (["fuzz", "nothing"], "dev: no fuzzer nothing"),
])
def test_dev_refuses_what_it_does_not_know(arguments, complaint):
    refused = run("./dev", *arguments, cwd=SOURCE)
    assert refused.returncode == 1
    assert complaint in refused.stderr


def test_package_lists_name_each_package_once():
    for name in sorted(os.listdir(os.path.join(SOURCE, "packages"))):
        with open(os.path.join(SOURCE, "packages", name), encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
        assert lines == sorted(set(lines)), name
        for line in lines:
            assert re.fullmatch(r"[a-z0-9.+-]+( \([a-z0-9.+-]+\))?", line), f"{name}: {line}"


def test_npm_lock_names_no_registry():
    with open(os.path.join(SOURCE, "tests/scenario/package-lock.json"), encoding="utf-8") as file:
        lock = file.read()
    assert '"resolved"' not in lock
    assert '"integrity"' in lock


# ---- paths in the documentation ----

def documents():
    """Paths of all pages, from the root of the repository."""
    listed = [path for path in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "deploy/kubernetes/README.md")]
    listed += [f"docs/{name}" for name in sorted(os.listdir(os.path.join(SOURCE, "docs"))) if name.endswith(".md")]
    listed += [f"src/{name}/README.md" for name in sorted(os.listdir(os.path.join(SOURCE, "src")))
               if os.path.exists(os.path.join(SOURCE, "src", name, "README.md"))]
    return listed


def read_source(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def headings(text):
    """The anchors of a page's headings, as forges make them."""
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-")
            for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def broken_links(path, text):
    """Relative links of a page that lead nowhere."""
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", text):
        found = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(os.path.join(SOURCE, found)):
            yield target
        elif anchor and anchor not in headings(read_source(found)):
            yield f"{target}#{anchor}"


PATH_IN_TEXT = re.compile(r"`((?:[\w.*-]+/)*[\w.*-]+(?:/|\.(?:h|c|md|txt|json|pml|py)))`")
PATH_IN_DRAWING = re.compile(r"(?<![\w./-])((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.[ch])?|[a-z_0-9]+/)(?![\w.])")


def missing_paths(text, *folders):
    """Paths between backquotes and in drawings that exist in none of the folders. NAME and * stand for any name."""
    paths = PATH_IN_TEXT.findall(text)
    for language, drawing in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        paths += [] if language else PATH_IN_DRAWING.findall(drawing)
    for path in paths:
        pattern = re.sub(r"[A-Z]{3,}", "*", path) if "/" in path else path
        if not any(glob.glob(os.path.join(SOURCE, folder, pattern)) for folder in folders):
            yield path


@pytest.mark.parametrize("path", documents())
def test_links_lead_somewhere(path):
    assert not list(broken_links(path, read_source(path)))


def test_paths_of_the_architecture_exist():
    text = read_source("docs/architecture.md")
    text = text.replace("`NAME_test.c`", "")
    assert "`tools/check-includes`" in text and "`src/ladder.txt`" in text
    assert "environment/act/start_stop.c" in text, "the drawing of the way of a deployment"
    assert not list(missing_paths(text, ".", "src", "docs"))
    for tool_name in re.findall(r"`(tools/[\w-]+)`", text):
        assert os.path.exists(os.path.join(SOURCE, tool_name))


@pytest.mark.parametrize("name", [path.split("/")[1] for path in documents() if path.startswith("src/")])
def test_paths_of_a_folders_readme_exist(name):
    assert not list(missing_paths(read_source(f"src/{name}/README.md"), f"src/{name}", f"src/{name}/*", ".", "src"))


def test_architecture_lists_every_folder():
    text = read_source("docs/architecture.md")
    for name in sorted(os.listdir(os.path.join(SOURCE, "src"))):
        if os.path.isdir(os.path.join(SOURCE, "src", name)):
            assert f"`{name}/`" in text, name
            assert f"src/{name}/README.md" in documents(), name
            assert f"](../src/{name}/README.md)" in text, name


def test_the_readme_names_every_engine():
    text = read_source("README.md")
    assert not list(missing_paths(text, ".", "src"))
    drawing = re.search(r"^## Architecture$(.*?)^## ", text, re.MULTILINE | re.DOTALL).group(1)
    for name in sorted(os.listdir(os.path.join(SOURCE, "src"))):
        if os.path.isdir(os.path.join(SOURCE, "src", name)):
            assert re.search(rf" {name}/\s", drawing), name


def test_missing_paths_and_broken_links_are_found():
    assert list(missing_paths("`base/err.h`, `base/missing.h`, `base/`, `lost/`", "src")) == ["base/missing.h", "lost/"]
    assert list(missing_paths("```\n base/   base/err.h\n lost/   base/lost.c\n```\n", "src")) == ["lost/", "base/lost.c"]
    assert list(broken_links("docs/store.md", "[a](control.md), [b](lost.md), [c](../README.md#lost), [d](#lost)")) == [
        "lost.md", "../README.md#lost", "#lost"]


# ---- the README ----

def shell_blocks(text):
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_readme_works_as_written(start_slipway):
    """Every shell block of the two sections, line by line as a reader would type it."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        section = re.search(r"^## First steps$(.*?)^## Architecture$", file.read(),
                            re.MULTILINE | re.DOTALL).group(1)
    assert "## Traffic" in section and "## Daemon environments" in section
    blocks = shell_blocks(section)
    assert len(blocks) >= 3
    server = start_slipway()
    script = "set -e\n" + "\n".join(blocks)
    assert "http://127.0.0.1:4780" in script
    script = script.replace("http://127.0.0.1:4780", server.url)
    script = script.replace("build/slipway", slipway_program())
    spoken = run("bash", "-c", script, env=server.aws_environment(), cwd=server.home)
    assert spoken.returncode == 0, spoken.stdout + spoken.stderr
    ecs = server.boto("ecs")
    assert [service["status"] for service in ecs.describe_services(
        services=["greeter", "web"])["services"]] == ["INACTIVE", "INACTIVE"]
    assert [arn.split("/")[-1] for arn in ecs.list_task_definitions()["taskDefinitionArns"]] == [
        "greeter:1", "watcher:1", "watcher:2", "web:1"]
    assert spoken.stdout.count(": completed") == 3, "two deployments and a rollback"
    assert "watcher:1: 1 of 1 tasks active" in spoken.stdout
    # The answers that README shows are those of the server.
    answers = re.findall(r"^```json\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert answers
    said = re.sub(r"\s+", "", spoken.stdout)
    for answer in answers:
        assert re.sub(r"\s+", "", answer) in said


def test_version_is_said_once():
    with open(os.path.join(SOURCE, "meson.build"), encoding="utf-8") as file:
        version = re.search(r"version: '([0-9.]+)'", file.read()).group(1)
    said = run(slipway_program(), "--version")
    assert said.returncode == 0
    assert said.stdout == f"slipway {version}\n"
    with open(os.path.join(SOURCE, "CHANGELOG.md"), encoding="utf-8") as file:
        assert f"## {version}" in file.read()


def test_links_between_documents_lead_somewhere():
    documents = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + [
        f"docs/{name}" for name in os.listdir(os.path.join(SOURCE, "docs"))]
    for document in documents:
        with open(os.path.join(SOURCE, document), encoding="utf-8") as file:
            links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read())
        for link in links:
            target = os.path.join(SOURCE, os.path.dirname(document), link)
            assert os.path.exists(target), f"{document} links to {link}"


def test_the_image_that_is_deployed_has_this_version():
    version = run(slipway_program(), "--version").stdout.split()[-1]
    with open(os.path.join(SOURCE, "deploy/kubernetes/kustomization.yaml"), encoding="utf-8") as file:
        assert f"newTag: {version}\n" in file.read()
