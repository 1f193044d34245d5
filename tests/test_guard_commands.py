"""Which commands would change the user's files, by their words."""

from __future__ import annotations

import time
from pathlib import Path

import guarded
import pytest

from costplan.profiler.commands import harm
from costplan.profiler.kept import ground


def changed(tmp_path: Path, words: list[str]) -> str | None:
    at = guarded.yesterday(tmp_path)
    (at.work / "other").mkdir()
    (at.work / "other" / "last.pt").write_text("a file of yesterday's, too")
    here = ground(str(at.folder), time.time())._replace(loose=())
    (at.work / "new").mkdir()
    found = harm(here, words, str(at.work))
    if found is None:
        return None
    return found.path.removeprefix(f"{at.work}/")


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("rm run/args.yaml", "run/args.yaml"),
        ("/bin/rm -f run/args.yaml", "run/args.yaml"),
        ("sudo rm -rf run/checkpoint-5", "run/checkpoint-5/model.bin"),
        ("rm run/weights/l*.pt", "run/weights/last.pt"),
        ("CUDA=1 mv run/args.yaml x", "run/args.yaml"),
        ("cp new.pt run/weights/last.pt", "run/weights/last.pt"),
        ("cp -r new/last.pt other", "other/last.pt"),
        ("rsync -a new/ other/", "other/last.pt"),
        ("truncate -s 0 run/args.yaml", "run/args.yaml"),
        ("dd if=/dev/zero of=run/args.yaml", "run/args.yaml"),
        ("true; rm run/args.yaml", "run/args.yaml"),
        ("true\nrm run/args.yaml", "run/args.yaml"),
        ("echo x > run/args.yaml", "run/args.yaml"),
        ("echo x >>run/args.yaml", "run/args.yaml"),
        ("(cd / && bash -lc 'rm run/args.yaml')", "run/args.yaml"),
        ("aws s3 cp run s3://bucket/run", "aws s3 cp run s3://bucket/run"),
        ("scp run/args.yaml me@box:runs", "scp run/args.yaml me@box:runs"),
        ("git push origin main", "git push origin main"),
        ("hf upload me/model run", "hf upload me/model run"),
        ("rm nothing.pt", None),
        ("rm -rf new", None),
        ("cp run/args.yaml new", None),
        ("cp -r run new", None),
        ("cat run/args.yaml 2>&1", None),
        ("cat run/args.yaml > new/args.yaml", None),
        ("git rev-parse HEAD", None),
        ("git version", None),
        ("git clone https://host/repository", None),
        ("aws s3 cp s3://bucket/data data", None),
        ("aws s3 ls s3://bucket", None),
        ("nvidia-smi --query-gpu=name --format=csv", None),
        ("echo 'an open quote", None),
        ("", None),
    ],
)
def test_a_command_in_a_shell_is_read_word_by_word(
    tmp_path: Path, command: str, path: str | None
) -> None:
    assert changed(tmp_path, ["/bin/sh", "-c", command]) == path


def test_a_command_without_a_shell_is_read_as_well(tmp_path: Path) -> None:
    assert changed(tmp_path, ["rm", "run/args.yaml"]) == "run/args.yaml"


def test_no_words_do_no_harm(tmp_path: Path) -> None:
    assert changed(tmp_path, []) is None
