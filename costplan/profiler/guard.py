"""Keeps the user's files as they were while a burst runs their training command.

The weights of a burst are worthless: batches are replayed and cut short. So every file that existed
before the start (`kept` says which) keeps its name, content, time and inode. A program that opens
one for writing gets a twin in the folder of the profile, and every later look at that path, in any
process of the run, sees the twin. A deletion, or a rename over it, is remembered and not done. New
files are made as asked, and listed (`spared`), so that the user can remove them.

Covered: `open`, the functions of `os`, and so pathlib, shutil, tempfile, zipfile, json, csv, numpy
and whatever else writes through them; torch's, safetensors', h5py's, OpenCV's and sqlite3's own
writers by name; Python children, forked or spawned, that load the hooks. Below it an audit hook
ends the run (exit code 4, `refused.json`) where something went round the wrapped functions, and
before a command starts that says it would delete, overwrite or upload something of the user's.
Refused as well: renaming a folder of the user's, writing into a file too long to copy, pushing to
the Hugging Face Hub.

Not covered: what a program that is not Python does beyond its words; native libraries that open
files by name and are not listed in `natives` (pyarrow, TensorFlow, databases other than SQLite);
uploads made in Python to remote stores; `ATTACH` in SQLite; Python started with `-I`, `-E` or `-S`,
which loads no hooks; writing through a descriptor that was open before the start.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import calls, natives
from costplan.profiler.kept import ground
from costplan.profiler.net import install_net
from costplan.profiler.refusal import refuse
from costplan.profiler.twins import Twins

if TYPE_CHECKING:
    from types import ModuleType

MODULES: Final = natives.MODULES
"""The modules that `protect` wants to see once they are imported."""


def start(settings: dict[str, Any]) -> None:
    """Guard this process, once; `settings` holds `folder`, `started_s` and `allow_writes`.

    Processes of one run share the folder, and see one another's twins. A run that is to start from
    the user's own files again needs a folder of its own.
    """
    if settings.get("allow_writes") or calls.TWINS:
        return
    folder = str(settings["folder"])
    os.makedirs(folder, exist_ok=True)
    calls.TWINS.append(Twins(ground(folder, float(settings["started_s"]))))
    install_net(calls.TWINS[0])
    calls.replace_all()
    for name in sorted(MODULES & set(sys.modules)):
        protect(sys.modules[name])


def protect(module: ModuleType) -> None:
    """Redirect what a module of `MODULES` writes by name; call it once it is imported."""
    if calls.TWINS:
        natives.protect(module, calls.place, _refused)


def _refused(name: str) -> None:
    refuse(calls.TWINS[0].folder, name, "sends results of a burst away")
