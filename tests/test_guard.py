"""A burst never harms the user's files: it writes over yesterday's run, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import guarded
import pytest

from costplan.profiler.kept import canonical
from costplan.profiler.spared import outermost

# What a program does to yesterday's files. Each checks that it sees what it did; the test
# checks that nothing of yesterday's changed on disk.
PROGRAMS = {
    "write": """
open("run/weights/last.pt", "wb").write(b"new")
assert open("run/weights/last.pt", "rb").read() == b"new"
assert os.path.getsize("run/weights/last.pt") == 3
""",
    "write, then replace": """
open("run/last.tmp", "wb").write(b"new")
os.replace("run/last.tmp", "run/weights/last.pt")
assert open("run/weights/last.pt", "rb").read() == b"new"
assert not os.path.exists("run/last.tmp")
""",
    "a path object": """
from pathlib import Path
last = Path("run") / "weights" / "last.pt"
last.write_bytes(b"new")
assert last.read_bytes() == b"new" and last.stat().st_size == 3
last.unlink()
assert not last.exists() and last not in list(last.parent.iterdir())
assert sorted(p.name for p in last.parent.glob("*.pt")) == ["best.pt", "hard.pt", "soft.pt"]
last.write_text("again")
assert last.read_text() == "again"
last.touch()
last.rename("run/moved.pt")
assert Path("run/moved.pt").read_text() == "again" and not last.exists()
""",
    "append": """
import csv
with open("run/results.csv", "a", newline="") as file:
    csv.writer(file).writerow([2, 0.4])
with open("run/results.csv") as file:
    assert file.read().splitlines() == ["epoch,loss", "1,0.5", "2,0.4"]
""",
    "update in place": """
with open("run/weights/best.pt", "r+b") as file:
    file.write(b"THE")
assert open("run/weights/best.pt", "rb").read() == b"THE best of yesterday"
""",
    "load, strip, save": """
old = open("run/weights/last.pt", "rb").read()
open("run/weights/last.pt", "wb").write(old[:9])
assert open("run/weights/last.pt", "rb").read() == b"yesterday"
""",
    "truncate": """
os.truncate("run/weights/last.pt", 4)
assert open("run/weights/last.pt", "rb").read() == b"yest"
""",
    "descriptor": """
file = os.open("run/weights/last.pt", os.O_RDWR)
os.write(file, b"YESTERDAY")
os.ftruncate(file, 9)
os.close(file)
assert open("run/weights/last.pt").read() == "YESTERDAY"
""",
    "mapped": """
import mmap
with open("run/weights/last.pt", "r+b") as file:
    with mmap.mmap(file.fileno(), 0) as memory:
        memory[:9] = b"YESTERDAY"
assert open("run/weights/last.pt", "rb").read() == b"YESTERDAY's weights"
""",
    "times and rights": """
os.utime("run/weights/last.pt", (1, 1))
os.chmod("run/args.yaml", 0o600)
assert os.stat("run/weights/last.pt").st_mtime == 1
assert os.stat("run/args.yaml").st_mode & 0o777 == 0o600
""",
    "delete": """
os.remove("run/weights/last.pt")
assert not os.path.exists("run/weights/last.pt")
assert not os.access("run/weights/last.pt", os.F_OK)
assert "last.pt" not in os.listdir("run/weights")
assert "last.pt" not in [entry.name for entry in os.scandir("run/weights")]
for do in (os.remove, os.stat, open, os.path.getsize):
    try:
        do("run/weights/last.pt")
    except FileNotFoundError:
        continue
    raise AssertionError(do)
open("run/weights/last.pt", "x").write("new")
assert open("run/weights/last.pt").read() == "new"
assert "last.pt" in os.listdir("run/weights")
""",
    "delete, append": """
os.remove("run/results.csv")
open("run/results.csv", "a").write("epoch")
assert open("run/results.csv").read() == "epoch"
""",
    "delete the run folder": """
import shutil
shutil.rmtree("run")
assert not os.path.exists("run"), os.listdir("run")
os.makedirs("run/weights")
assert os.listdir("run/weights") == []
open("run/weights/last.pt", "w").write("new")
assert os.listdir("run/weights") == ["last.pt"]
""",
    "rotate checkpoints": """
import shutil
os.makedirs("run/tmp-checkpoint-5")
open("run/tmp-checkpoint-5/model.bin", "w").write("new")
shutil.rmtree("run/checkpoint-5")
os.rename("run/tmp-checkpoint-5", "run/checkpoint-5")
assert open("run/checkpoint-5/model.bin").read() == "new"
assert not os.path.exists("run/tmp-checkpoint-5")
""",
    "move": """
import shutil
shutil.move("run/weights/last.pt", "run/weights/old.pt")
assert open("run/weights/old.pt", "rb").read() == b"yesterday's weights"
assert not os.path.exists("run/weights/last.pt")
open("new.pt", "w").write("new")
shutil.move("new.pt", "run/weights/best.pt")
assert open("run/weights/best.pt").read() == "new" and not os.path.exists("new.pt")
shutil.copy("run/args.yaml", "run/results.csv")
shutil.copy2("run/args.yaml", "run/weights/last.pt")
assert open("run/results.csv").read() == open("run/weights/last.pt").read() == "lr: 0.1\\n"
""",
    "rename one onto the other": """
os.rename("run/weights/last.pt", "run/weights/best.pt")
assert open("run/weights/best.pt", "rb").read() == b"yesterday's weights"
assert not os.path.exists("run/weights/last.pt")
os.rename("run/weights/best.pt", "run/weights/best.pt")
assert os.path.exists("run/weights/best.pt")
""",
    "links": """
open("run/weights/soft.pt", "w").write("soft")
assert open("run/weights/last.pt").read() == "soft"
open("run/weights/hard.pt", "w").write("hard")
assert open("run/weights/best.pt").read() == "hard"
open("latest/args.yaml", "a").write("epochs: 3")
assert open("run/args.yaml").read() == "lr: 0.1\\nepochs: 3"
""",
    "new links": """
os.link("run/weights/best.pt", "run/mine.pt")
open("run/mine.pt", "w").write("new")
assert open("run/weights/best.pt").read() == "new"
os.symlink("weights/best.pt", "run/linked.pt")
open("run/linked.pt", "w").write("linked")
assert open("run/weights/best.pt").read() == open("run/mine.pt").read() == "linked"
os.remove("run/weights/soft.pt")
assert not os.path.lexists("run/weights/soft.pt")
os.symlink("best.pt", "run/weights/soft.pt")
assert open("run/weights/soft.pt").read() == "linked"
assert os.readlink("run/weights/soft.pt").endswith("best.pt")
open("run/x.pt", "w").write("x")
os.replace("run/x.pt", "run/weights/soft.pt")
assert open("run/weights/soft.pt").read() == "x"
""",
    "other folder, other spelling": """
os.chdir("run/weights")
open("../weights/./last.pt", "w").write("new")
assert open("last.pt").read() == open(os.path.abspath("last.pt")).read() == "new"
assert open(b"last.pt").read() == "new"
fd = os.open("..", os.O_RDONLY)
os.unlink("results.csv", dir_fd=fd)
assert "results.csv" not in os.listdir(fd)
os.close(os.open("args.yaml", os.O_WRONLY | os.O_TRUNC, dir_fd=fd))
assert open("../args.yaml").read() == ""
""",
    "pickle and json": """
import json, pickle
json.dump({"lr": 1}, open("run/args.yaml", "w"))
pickle.dump([1], open("run/weights/last.pt", "wb"))
assert json.load(open("run/args.yaml")) == {"lr": 1}
assert pickle.load(open("run/weights/last.pt", "rb")) == [1]
""",
    "zip and logging": """
import logging, zipfile
with zipfile.ZipFile("run/weights/last.pt", "w") as file:
    file.writestr("data", "new")
assert zipfile.ZipFile("run/weights/last.pt").read("data") == b"new"
logging.basicConfig(filename="run/results.csv")
logging.warning("new")
assert open("run/results.csv").read().endswith("new\\n")
""",
    "database": """
import sqlite3
guard.protect(sqlite3)
for name in ("run/study.db", "file:run/study.db"):
    with sqlite3.connect(name, uri=name.startswith("file:")) as study:
        study.execute("insert into trials values (0.4)")
    study.close()
with sqlite3.connect("file:run/study.db?mode=ro", uri=True) as study:
    assert study.execute("select count(*) from trials").fetchone() == (3,)
""",
    "threads": """
import threading
def save(n):
    open("run/weights/last.pt", "w").write(str(n))
    open("run/results.csv", "a").write("x")
threads = [threading.Thread(target=save, args=(n,)) for n in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
assert open("run/results.csv").read().endswith("0.5\\nxxxxxxxx")
""",
    "forked child": """
open("run/results.csv", "a").write("parent,")
if os.fork() == 0:
    open("run/results.csv", "a").write("child")
    os.remove("run/weights/best.pt")
    os._exit(0)
os.wait()
assert open("run/results.csv").read().endswith("parent,child")
assert not os.path.exists("run/weights/best.pt")
""",
    "started child": """
import subprocess
child = open(os.path.join(os.path.dirname(__file__), "loader.py")).read() + '''
assert open("run/args.yaml").read() == "parent"
open("run/args.yaml", "w").write("child")
'''
open("run/args.yaml", "w").write("parent")
subprocess.run([sys.executable, "-S", "-c", child], check=True)
assert open("run/args.yaml").read() == "child"
""",
    "temporary files": """
import tempfile
with tempfile.NamedTemporaryFile("w", dir="run", delete=False) as file:
    file.write("new")
os.replace(file.name, "run/args.yaml")
assert open("run/args.yaml").read() == "new"
with tempfile.TemporaryDirectory(dir="run") as folder:
    open(folder + "/x", "w").write("new")
assert not os.path.exists(folder)
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_program_sees_what_it_did_and_yesterday_stays(tmp_path: Path, program: str) -> None:
    at = guarded.yesterday(tmp_path)
    before = guarded.state(at.work)
    ran = guarded.run(at, program)
    assert (ran.code, ran.errors) == (0, "")
    after = guarded.state(at.work)
    assert {name: after.get(name) for name in before} == before


@pytest.mark.slow
def test_programs_would_harm_yesterday_if_writes_were_allowed(tmp_path: Path) -> None:
    for number, program in enumerate(PROGRAMS.values()):
        (tmp_path / str(number)).mkdir()
        at = guarded.yesterday(tmp_path / str(number))
        before = guarded.state(at.work)
        ran = guarded.run(at, program, allow_writes=True)
        assert ran.code == 0, (program, ran.errors)  # so each checks what a program truly sees
        after = guarded.state(at.work)
        assert {name: after.get(name) for name in before} != before, program
        assert not at.folder.exists()


def test_modules_imported_before_the_start_are_guarded_as_well(tmp_path: Path) -> None:
    at = guarded.yesterday(tmp_path)
    before = guarded.state(at.work)
    ran = guarded.run(at, PROGRAMS["a path object"], early="import glob, pathlib, tarfile")
    assert (ran.code, ran.errors) == (0, "")
    after = guarded.state(at.work)
    assert {name: after.get(name) for name in before} == before


def test_nothing_is_wrapped_where_writes_are_allowed(tmp_path: Path) -> None:
    program = "print(type(open).__name__, type(os.stat).__name__)"
    at = guarded.yesterday(tmp_path)
    allowed = guarded.run(at, program, allow_writes=True).said.split()
    assert allowed == ["builtin_function_or_method"] * 2
    assert guarded.run(at, program).said.split() == ["method"] * 2


def test_new_files_are_made_and_listed(tmp_path: Path) -> None:
    at = guarded.yesterday(tmp_path)
    ran = guarded.run(
        at,
        """
os.makedirs("run2/weights")
open("run2/weights/last.pt", "w").write("new")
open("run2/weights/last.pt", "w").write("newer")
open("gone.txt", "w").close()
os.remove("gone.txt")
open("run/a.tmp", "w").close()
os.rename("run/a.tmp", "run/a.pt")
open("run/args.yaml", "a").write("x")
os.remove("run/results.csv")
open("/dev/null", "w").write("x")
""",
    )
    assert (ran.code, ran.errors) == (0, "")
    new = [str(Path(path).relative_to(at.work)) for path in ran.did.new]
    assert new == ["run2", "run2/weights", "run2/weights/last.pt", "run/a.pt"]
    assert outermost(ran.did.new) == (str(at.work / "run2"), str(at.work / "run/a.pt"))
    assert (at.work / "run2/weights/last.pt").read_text() == "newer"
    assert ran.did.redirected == (str(at.work / "run/args.yaml"),)
    assert ran.did.deleted == (canonical(str(at.work / "run/results.csv")),)
    assert ran.did.refused is None


REFUSED = {
    "a folder's name": 'os.rename("run", "run_old")',
    "a folder's name, by way of shutil": 'import shutil; shutil.move("run", "old")',
    "an unwrapped opening": 'import io; io.FileIO("run/weights/last.pt", "w")',
    "an unwrapped deletion": 'import posix; posix.unlink("run/weights/last.pt")',
    "an unwrapped rename": 'import posix; posix.rename("run/args.yaml", "x")',
    "an unwrapped rename of a folder": 'import posix; posix.rename("run", "x")',
    "an unwrapped database": 'import sqlite3; sqlite3.connect("run/study.db")',
    "a command": 'import subprocess; subprocess.run(["rm", "-rf", "run"])',
    "a command in a shell": 'os.system("cd . && mv run/weights/last.pt x")',
    "an upload": 'import subprocess; subprocess.run("aws s3 sync run s3://bucket", shell=True)',
}


@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_redirected_ends_the_run(tmp_path: Path, program: str) -> None:
    at = guarded.yesterday(tmp_path)
    before = guarded.state(at.work)
    ran = guarded.run(
        at,
        f"""
print("before")
try:
    {program}
except BaseException:
    pass
finally:
    print("after")
""",
    )
    assert ran.code == 4, ran.errors
    assert ran.said == "before\n"
    assert ran.did.refused is not None
    assert str(ran.did.refused["path"]) in ran.errors
    assert guarded.state(at.work) == before


def test_a_refusal_in_a_child_ends_its_parent(tmp_path: Path) -> None:
    at = guarded.yesterday(tmp_path)
    ran = guarded.run(
        at,
        """
if os.fork() == 0:
    os.rename("run", "old")
os.wait()
open("run/args.yaml").read()
print("after")
""",
    )
    assert (ran.code, ran.said) == (4, "")


def test_reading_commands_and_copies_from_the_run_are_let_through(tmp_path: Path) -> None:
    at = guarded.yesterday(tmp_path)
    ran = guarded.run(
        at,
        """
import subprocess
subprocess.run(["cp", "run/args.yaml", "copy.yaml"], check=True)
subprocess.run("cat run/args.yaml > shown.txt 2>&1", shell=True, check=True)
subprocess.run("rm copy.yaml; true && echo done", shell=True, check=True)
""",
    )
    assert (ran.code, ran.said, ran.errors) == (0, "done\n", "")
    assert (at.work / "shown.txt").read_text() == "lr: 0.1\n"
    assert not (at.work / "copy.yaml").exists()


def test_caches_are_written_but_results_in_them_are_kept(tmp_path: Path) -> None:
    at = guarded.yesterday(tmp_path)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "tokens.json").write_text("old")
    (cache / "last.pt").write_text("old")
    (at.work / "run.lock").write_text("old")
    ran = guarded.run(
        at,
        """
cache = os.environ["HF_HOME"]
for name in (cache + "/tokens.json", cache + "/last.pt", "run.lock"):
    open(name, "w").write("new")
    assert open(name).read() == "new"
""",
        env={"HF_HOME": str(cache)},
    )
    assert (ran.code, ran.errors) == (0, "")
    assert (cache / "tokens.json").read_text() == "new"
    assert (cache / "last.pt").read_text() == "old"
    assert (at.work / "run.lock").read_text() == "new"


def test_a_file_that_another_run_writes_meanwhile_is_kept_as_well(tmp_path: Path) -> None:
    at = guarded.yesterday(tmp_path)
    # The shell stands for a training run that goes on beside the burst.
    (tmp_path / "live.sh").write_text("echo live >> run/results.csv\n")
    ran = guarded.run(
        at,
        """
import subprocess
subprocess.run(["sh", "../live.sh"], check=True)
open("run/results.csv", "a").write("burst")
assert open("run/results.csv").read().endswith("live\\nburst")
""",
    )
    assert (ran.code, ran.errors) == (0, "")
    assert (at.work / "run/results.csv").read_text() == "epoch,loss\n1,0.5\nlive\n"


def test_a_file_too_long_to_copy_is_not_opened_for_writing(tmp_path: Path) -> None:
    at = guarded.yesterday(tmp_path)
    with (at.work / "tokens.npy").open("wb") as file:
        file.truncate(3 << 30)  # a hole: it takes no disk
    ran = guarded.run(at, 'open("tokens.npy", "rb").close(); open("tokens.npy", "r+b")')
    assert ran.code == 4
    assert ran.did.refused is not None
    assert ran.did.refused["why"] == "writes into a file too long to copy"


def test_pushes_are_refused(tmp_path: Path) -> None:
    at = guarded.yesterday(tmp_path)
    ran = guarded.run(
        at,
        """
import types
hub = types.ModuleType("huggingface_hub.hf_api")
class HfApi:
    def create_commit(self): print("pushed")
    def model_info(self): print("read")
hub.HfApi = HfApi
guard.protect(hub)
HfApi().model_info()
HfApi().create_commit()
""",
    )
    assert (ran.code, ran.said) == (4, "read\n")


def test_runs_with_folders_of_their_own_start_from_yesterday_again(tmp_path: Path) -> None:
    at = guarded.yesterday(tmp_path)
    program = """
assert open("run/args.yaml").read() == "lr: 0.1\\n"
open("run/args.yaml", "a").write("x")
"""
    assert guarded.run(at, program).code == 0
    assert guarded.run(at, program).code == 1
    assert guarded.run(at._replace(folder=tmp_path / "other"), program).code == 0
