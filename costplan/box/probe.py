"""Reads another box through ssh: one command, one clock, one line of JSON back.

The same code reads here and there: the sources of `gather` and its helpers go in through the
standard input of a plain `sh`, so nothing is installed, nothing is written, and no name of a
folder ever passes through a shell. A box without Python 3.7 still tells its clock and its GPUs.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from costplan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_S: Final = 60.0
MOST_BYTES: Final = 64_000_000
MARK: Final = "costplan-probe-1 "
SHORT: Final = 200
MODULES: Final = ("files", "gpus", "processes", "gather")
OPTIONS: Final = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_HOST = re.compile(r"[A-Za-z0-9_][\w.@%+\[\]-]*")

LOADER: Final = """\
import base64, json, sys, types
given = json.loads(base64.b64decode("@GIVEN@").decode("utf-8"))
for name in ("costplan", "costplan.box"):
    sys.modules[name] = types.ModuleType(name)
for name, source in given["sources"]:
    module = types.ModuleType("costplan.box." + name)
    sys.modules[module.__name__] = module
    setattr(sys.modules["costplan.box"], name, module)
    exec(compile(source, name, "exec"), module.__dict__)
print("@MARK@" + json.dumps(module.gather(given["patterns"])))
"""
# What is left without Python: enough to say busy, never enough to say idle.
SCRIPT: Final = r"""
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 7))' 2>/dev/null; then
python3 - <<'COSTPLAN_END'
@LOADER@COSTPLAN_END
else
read up rest </proc/uptime
boot=$(tr -cd '0-9a-f-' </proc/sys/kernel/random/boot_id)
gpus=$(nvidia-smi --query-gpu=index,utilization.gpu --format=csv,noheader,nounits 2>/dev/null |
  sed -n 's/^\([0-9][0-9]*\), *\([0-9][0-9]*\)$/{"index":\1,"name":"GPU","util_percent":\2}/p' |
  paste -sd, -)
printf '%s{"clock":{"wall_s":%s,"uptime_s":%s,"boot_id":"%s"},"machine":{"gpus":[%s],' \
  '@MARK@' "$(date +%s)" "$up" "$boot" "$gpus"
printf '"problems":["no python3 (3.7 or newer) on the box"]},"folders":@FOLDERS@}\n'
fi
"""


def split_target(target: str) -> tuple[str, str]:
    """Return the host and the folder of `HOST:DIR`.

    Raises:
        InputError: One of them is missing, or the host could be taken for an option.

    >>> split_target("me@box:/runs/one")
    ('me@box', '/runs/one')
    """
    host, colon, folder = target.partition(":")
    if not colon or not folder:
        raise InputError(f"{target!r} is not HOST:DIR", hint="for example me@box:/workspace/runs/1")
    return checked_host(host), folder


def checked_host(host: str) -> str:
    """Return a name that ssh takes as a host.

    Raises:
        InputError: It is empty, or could be taken for an option.
    """
    if not _HOST.fullmatch(host):
        raise InputError(f"{host!r} is not a host", hint="write it as in ~/.ssh/config")
    return host


def script(patterns: Sequence[str]) -> str:
    """Return the shell script that reads a box and prints one marked line of JSON."""
    here = Path(__file__).parent
    sources = [(name, (here / f"{name}.py").read_text(encoding="utf-8")) for name in MODULES]
    given = json.dumps({"sources": sources, "patterns": list(patterns)}).encode()
    unread = [{"path": each, "problem": "no python3 on the box to read it"} for each in patterns]
    # Inside printf's format and single quotes: nothing of a name may be read as either.
    folders = json.dumps(unread).replace("\\", "\\\\").replace("%", "%%").replace("'", "'\\''")
    loader = LOADER.replace("@GIVEN@", base64.b64encode(given).decode()).replace("@MARK@", MARK)
    filled = SCRIPT.replace("@LOADER@", loader).replace("@MARK@", MARK)
    return filled.replace("@FOLDERS@", folders)


def answer(
    host: str, patterns: Sequence[str], *, timeout_s: float = TIMEOUT_S
) -> tuple[str | None, str | None]:
    """Return the JSON that a box answers with and no problem, or None and the problem.

    Raises:
        InputError: The host could be taken for an option.
    """
    command = ["ssh", *OPTIONS, "--", checked_host(host), "sh -s"]
    try:
        done = subprocess.run(
            command,
            input=script(patterns).encode(),
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"{host} did not answer within {timeout_s:g} s"
    except OSError as error:
        return None, f"ssh cannot be run: {error.strerror}"
    if done.returncode:
        return None, f"ssh to {host} ended with {done.returncode}{_reason(done.stderr)}"
    return marked(done.stdout, host)


def marked(output: bytes, host: str) -> tuple[str | None, str | None]:
    """Return the one marked line among whatever greeting the box prints."""
    if len(output) > MOST_BYTES:
        return None, f"{host} answered with more than {MOST_BYTES:,} bytes"
    lines = output.decode("utf-8", "replace").splitlines()
    found = [line[len(MARK) :] for line in lines if line.startswith(MARK)]
    if len(found) != 1:
        return None, f"{host} answered {'twice' if found else 'nothing that can be read'}"
    return found[0], None


def _reason(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:SHORT]}" if lines else ""
