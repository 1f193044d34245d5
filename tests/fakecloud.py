"""A provider for tests: a folder with one file per box, and a program that changes it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple

PROGRAM = """#!/bin/sh
# cloud VERB ID, as its mode says: obey, refuse, ignore, slow, or a word that `state` prints.
cd "$(dirname "$0")" || exit 9
mode=$(cat mode)
if [ "$1" = state ]; then
  case $mode in
    says:*) echo "${mode#says:}"; exit ;;
    blind) echo "no answer" >&2; exit 7 ;;
  esac
  if [ -e "boxes/$2" ]; then cat "boxes/$2"; else echo gone; fi
  exit
fi
echo "$1 $2" >>calls
[ -e "$LOG" ] && cp "$LOG" "log-at-call"
case $mode in
  refuse) echo "stop refused: disk full" >&2; exit 1 ;;
  ignore) echo "OK"; exit ;;
  slow) sleep 1 ;;
esac
case $1 in
  stop) echo stopped >"boxes/$2" ;;
  destroy) rm -f "boxes/$2" ;;
esac
"""


class Cloud(NamedTuple):
    """One provider with its boxes."""

    root: Path

    def words(self, verb: str) -> tuple[str, ...]:
        """Return the template of a command."""
        return (str(self.root / "cloud"), verb, "{id}")

    def command(self, verb: str) -> str:
        """Return the same as it is typed."""
        return f"'{self.root / 'cloud'}' {verb} {{id}}"

    def put(self, box: str, state: str = "running") -> None:
        """Have a box in a state."""
        (self.root / "boxes" / box).write_text(f"{state}\n")

    def state(self, box: str) -> str:
        """Return the state of a box."""
        file = self.root / "boxes" / box
        return file.read_text().strip() if file.exists() else "gone"

    def behave(self, mode: str) -> None:
        """Change what calls and questions do from now on."""
        (self.root / "mode").write_text(mode)

    @property
    def calls(self) -> list[str]:
        """All that was called, questions left out."""
        file = self.root / "calls"
        return file.read_text().splitlines() if file.exists() else []


def cloud(root: Path, **boxes: str) -> Cloud:
    """Return a provider in a folder, with these boxes in these states."""
    (root / "boxes").mkdir(parents=True)
    program = root / "cloud"
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    found = Cloud(root)
    found.behave("obey")
    for box, state in boxes.items():
        found.put(box, state)
    return found
