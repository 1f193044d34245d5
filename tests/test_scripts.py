"""scripts/demo and scripts/test on a machine that has little more than python3."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ("demo", "test", "test-matrix")
REAL_PYTHON = str(Path(sys.executable).resolve())
UTILITIES = ("sh", "cat", "dirname", "mkdir", "mktemp", "rm")
"""All that a script may count on beside python3."""

PLAIN = f"""#!/bin/sh
exec '{REAL_PYTHON}' "$@"
"""

# What Debian's python3 prints and leaves where python3-venv is missing.
DEBIAN_VENV = f"""#!/bin/sh
if [ "$1 $2" = '-m venv' ]; then
  for folder; do :; done
  mkdir -p "$folder/bin"
  echo 'The virtual environment was not created successfully because ensurepip is not'
  echo 'available. On Debian/Ubuntu systems, you need to install the python3-venv package'
  exit 1
fi
exec '{REAL_PYTHON}' "$@"
"""

# `-m venv` makes a python that does nothing but write down what it was asked.
RECORDING = f"""#!/bin/sh
if [ "$1 $2" = '-m venv' ]; then
  for folder; do :; done
  mkdir -p "$folder/bin"
  cat >"$folder/bin/python" <<'END'
#!/bin/sh
for argument; do printf '[%s]' "$argument" >>"$RECORD"; done
echo >>"$RECORD"
case "$*" in
  '-m pip'*)
    echo 'pip says why'
    exit "${{PIP_STATUS:-0}}"
    ;;
  '-m pytest'*'-m not torch'*) exit "${{MAIN_STATUS:-0}}" ;;
  '-m pytest'*) exit "${{TORCH_STATUS:-0}}" ;;
  *find_spec*) exit "${{TORCH_MISSING:-0}}" ;;
esac
END
  chmod +x "$folder/bin/python"
  exit
fi
exec '{REAL_PYTHON}' "$@"
"""


def _before(statement: str) -> str:
    """Return a python3 that runs a statement before what it is given with -c."""
    return f"""#!/bin/sh
if [ "$1" = -c ]; then
  code=$2
  shift 2
  exec '{REAL_PYTHON}' -c "{statement}
$code" "$@"
fi
exec '{REAL_PYTHON}' "$@"
"""


WITHOUT_ENSUREPIP = _before("import sys; sys.modules['ensurepip'] = None")
OLD = _before("import sys; sys.version_info = (3, 9, 2)")


class Machine:
    """A checkout, and a PATH with python3 and a few utilities."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "a check out"
        self.bin = folder / "bin"
        self.record = folder / "record"
        self.elsewhere = folder / "else where"
        self.bin.mkdir()
        self.elsewhere.mkdir()
        for name in (*UTILITIES, "chmod"):
            found = shutil.which(name)
            assert found
            (self.bin / name).symlink_to(found)

    def python(self, text: str, name: str = "python3") -> None:
        self.bin.joinpath(name).write_text(text, "utf-8")
        self.bin.joinpath(name).chmod(0o755)

    def run(self, script: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        left_out = ("PYTHON", "PYTHONPATH", "VIRTUAL_ENV", "COLUMNS", "XDG_CACHE_HOME")
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        return subprocess.run(
            [self.checkout / "scripts" / script, *arguments],
            cwd=self.elsewhere,
            env={**kept, "PATH": str(self.bin), "RECORD": str(self.record), **more},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def environments(self) -> list[str]:
        return sorted(found.name for found in self.checkout.glob(".venv*"))

    def asked(self, module: str) -> list[str]:
        """Return what the environment's python was asked to run of a module, since last time."""
        lines = self.record.read_text("utf-8").splitlines()
        self.record.unlink()
        start = f"[-m][{module}]"
        return [line.removeprefix(start) for line in lines if line.startswith(start)]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    shutil.copytree(ROOT / "scripts", made.checkout / "scripts")
    shutil.copy(ROOT / "pyproject.toml", made.checkout)
    made.python(RECORDING)
    return made


def _selections(asked: list[str]) -> list[str]:
    """Return the -m of each run of pytest, whose other arguments are the same."""
    return [re.sub(r"^\[-q\]\[-m\]\[([^]]*)\].*", r"\1", line) for line in asked]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_and_any_sh_reads_it(name: str) -> None:
    script = ROOT / "scripts" / name
    assert os.access(script, os.X_OK)
    assert script.read_text("utf-8").startswith("#!/bin/sh\n")
    for path in (script, ROOT / "scripts" / "venv.sh"):
        subprocess.run(["sh", "-n", path], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("python", [WITHOUT_ENSUREPIP, DEBIAN_VENV], ids=["import", "venv"])
def test_without_ensurepip_one_package_is_named(machine: Machine, name: str, python: str) -> None:
    machine.python(python)
    done = machine.run(name)
    assert done.returncode == 2
    assert done.stdout == ""
    packages = re.findall(r"python3[\w.]*-venv|venv/ensurepip package", done.stderr)
    matching = f"python3.{sys.version_info.minor}-venv"
    assert packages in ([matching], ["venv/ensurepip package"])
    assert machine.environments() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_an_old_or_missing_python_is_said(machine: Machine, name: str) -> None:
    machine.python(OLD)
    done = machine.run(name)
    assert done.returncode == 2
    assert "needs Python 3.10 or newer, and python3 is 3.9" in done.stderr
    done = machine.run(name, PYTHON="python3.99")
    assert done.returncode == 2
    assert "python3.99 does not run" in done.stderr
    assert machine.environments() == []


@pytest.mark.slow
def test_the_parts_and_what_they_select(machine: Machine) -> None:
    done = machine.run("test", "tests/a b.py", "-x")
    assert done.returncode == 0
    asked = machine.asked("pytest")
    assert _selections(asked) == ["not torch and not slow", "torch and not slow"]
    assert all(line.endswith("[tests/a b.py][-x]") for line in asked)

    assert machine.run("test", "--all", TORCH_MISSING="1").returncode == 0
    assert _selections(machine.asked("pytest")) == ["not torch"]

    machine.run("test", "-m", "slow or x")
    assert _selections(machine.asked("pytest")) == [
        "not torch and (slow or x)",
        "torch and (slow or x)",
    ]
    machine.run("test", "-mx")
    assert _selections(machine.asked("pytest"))[0] == "not torch and not slow and (x)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("main", "torch", "status"),
    [(0, 5, 0), (5, 0, 0), (5, 5, 5), (1, 0, 1), (1, 5, 1), (0, 1, 1), (5, 1, 1), (2, 1, 2)],
)
def test_the_status_of_both_parts(machine: Machine, main: int, torch: int, status: int) -> None:
    done = machine.run("test", MAIN_STATUS=str(main), TORCH_STATUS=str(torch))
    assert done.returncode == status


@pytest.mark.slow
def test_torch_comes_when_asked_for_and_the_environment_stays(machine: Machine) -> None:
    machine.run("test")
    (first,) = machine.asked("pip")
    assert first.endswith("[-e][.[test]]")

    machine.run("test", "--torch")
    (second,) = machine.asked("pip")
    assert re.search(r"\[torch==[\d.]+\]$", second)

    done = machine.run("test", "--torch", PIP_STATUS="1")
    assert done.returncode == 1
    assert "pip says why" in done.stderr
    assert machine.asked("pytest") == []

    machine.run("test")
    assert machine.asked("pip") == []
    assert machine.environments() == [".venv-test"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_half_made_environment_goes(machine: Machine, name: str) -> None:
    done = machine.run(name, PIP_STATUS="1")
    assert done.returncode == 1
    assert "pip says why" in done.stderr
    assert machine.environments() == []


@pytest.mark.slow
def test_other_requirements_make_it_anew_and_other_settings_do_not(machine: Machine) -> None:
    machine.run("demo")
    machine.record.unlink()
    project = machine.checkout / "pyproject.toml"
    text = project.read_text("utf-8")
    project.write_text(text.replace("line-length = 100", "line-length = 99"), "utf-8")
    machine.run("demo")
    assert machine.asked("pip") == []
    project.write_text(text.replace("pyyaml>=", "pyyaml>=5,>="), "utf-8")
    machine.run("demo")
    assert len(machine.asked("pip")) == 1


@pytest.mark.slow
def test_another_python_has_another_environment(machine: Machine) -> None:
    machine.python(RECORDING, "another")
    machine.run("test", PYTHON="another")
    assert machine.environments() == [f".venv-test-3.{sys.version_info.minor}"]


@pytest.mark.slow
def test_the_demo_ends_with_the_ranked_table(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (machine.bin / "chmod").unlink()
    machine.python(PLAIN)
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (machine.checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, machine.checkout / name)

    done = machine.run("demo")
    assert done.returncode == 0, done.stderr
    table, _, legend = done.stdout.partition("\n* ")
    head, *rows = table.splitlines()
    assert re.match(r"offer +region .*total \$", head)
    assert len(rows) == 10
    assert all(re.match(r"[\w-]+/\d+x-", row) for row in rows)
    assert "\nassumed" in legend
    assert machine.environments() == [".venv-demo"]

    again = machine.run("demo")
    assert again.returncode == 0
    assert again.stdout == done.stdout
    assert "making" not in again.stderr
    environment = machine.checkout / ".venv-demo"
    assert not list(environment.glob("lib/python*/site-packages/torch"))
