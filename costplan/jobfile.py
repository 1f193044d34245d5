"""Job files, standard input and `--set`, as one Job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from costplan import yamlfile
from costplan.errors import InputError, nearest
from costplan.records.jobs import Job

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def read_job(
    source: str | None,
    *,
    settings: Sequence[str] = (),
    flags: Mapping[str, tuple[str, Any]] | None = None,
) -> Job:
    """Return the job in the file `source` (`-`: standard input), flags over settings over file.

    Args:
        source: Path of a YAML file, `-`, or None where settings say everything.
        settings: `key=value` texts, the value as YAML: `throughput={card: T4, step_s: 0.2}`.
        flags: Flag -> the job field it stands for and its value; None counts as not given.

    Raises:
        InputError: The file or a setting cannot be used as it stands.
    """
    data: dict[str, Any] = {}
    where, text = "--set", None
    if source is not None:
        where = "standard input" if source == "-" else source
        text = yamlfile.read_stdin() if source == "-" else yamlfile.read_text(Path(source))
        found = yamlfile.parse(text, where=where)
        if not isinstance(found, dict):
            raise InputError(f"{where} is not a job: it needs lines such as `epochs: 10`")
        data = dict(found)
        yamlfile.build(Job, data, where=where, text=text)
    for setting in settings:
        data.update(_setting(setting))
    for flag, (field, value) in (flags or {}).items():
        if value is not None:
            _check({field: value}, where=f"{flag} {value}")
            data[field] = value
    if not data:
        raise InputError(
            "no job: name a job file, or say it with --set",
            hint="examples/ has job files; `costplan estimate --help` shows one without a file",
        )
    if source not in (None, "-"):
        data.setdefault("name", Path(str(source)).stem)
    return yamlfile.build(Job, data, where=where, text=text)


def _setting(setting: str) -> dict[str, Any]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise InputError(f"--set {setting}: not of the form key=value")
    if key not in Job.model_fields:
        raise InputError(f"--set {key}: unknown key", hint=nearest(key, Job.model_fields))
    where = f"--set {key}"
    parsed = dict(yamlfile.parse(f"{key}: {value}\n", where=where))
    _check(parsed, where=where)
    return parsed


def _check(fields: dict[str, Any], *, where: str) -> None:
    """Refuse values that fit no job; whether they fit this one is seen when it is complete."""
    yamlfile.build(Job, {"epochs": "1000000", "runs": "100000", **fields}, where=where)
