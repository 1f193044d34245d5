"""Strict YAML: scalars as text, repeated keys and YAML 1.1 surprises refused, errors with a line.

YAML 1.1 reads `no` as False, `12:30` as 750, `010` as 8 and `312e12` as a word, and lets a
repeated key win in silence. Here every scalar stays text until a record reads it, and a scalar
that programs would read differently is an error.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from costplan.errors import InputError, nearest
from costplan.records.record import ValidationError

if TYPE_CHECKING:
    from pathlib import Path

    from costplan.records.record import Record

R = TypeVar("R", bound="Record")
Data = Any
"""Text, or lists and dictionaries of it."""

MAX_BYTES = 1_000_000
"""No job file or provider file comes near; what is larger is another file given by mistake."""

MAX_SHOWN = 80

_SURPRISES = (
    (re.compile(r"(?i)(yes|no|on|off|y|n)\Z"), "YAML 1.1 reads it as true or false"),
    (re.compile(r"(?i)(null|~|)\Z"), "an empty value is not a value: leave the key out"),
    (re.compile(r"[-+]?\d[\d_]*(:[0-5]?\d)+(\.\d*)?\Z"), "YAML 1.1 reads it in base 60"),
    (re.compile(r"[-+]?0[0-9_]+\Z"), "YAML 1.1 reads it in base 8"),
    (re.compile(r"[-+]?0[xob][0-9a-fA-F_]+\Z"), "write it in base 10"),
    (re.compile(r"[-+]?\d[\d_]*(\.\d*)?[eE][-+]?\d+\Z"), "write the number out"),
    (re.compile(r"[-+]?(\d+\.?\d*|\.\d+)_[\d_.]*\Z"), "write the number without _"),
    (re.compile(r"(?i)[-+]?\.(inf|nan)\Z"), "it is not a number"),
    (re.compile(r"(True|TRUE|False|FALSE)\Z"), "write true or false"),
)

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class _TextLoader(_Loader):  # type: ignore[misc]  # chosen at run time: the C one where built
    """Keeps scalars as text and refuses what other readers would read differently."""

    def construct_scalar(self, node: yaml.ScalarNode) -> str:
        text = str(super().construct_scalar(node))
        if not node.style:
            for pattern, why in _SURPRISES:
                if pattern.match(text):
                    raise InputError(
                        f"{_place(self, node)}: {text or 'nothing'} as a value: {why}",
                        hint="put it in quotes if the text itself is meant" if text else None,
                    )
        return text

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise InputError(f"{_place(self, key)}: a key must be a word")
            if key.value in seen:
                raise InputError(f"{_place(self, key)}: {key.value!r} appears twice")
            seen.add(key.value)
        return dict(super().construct_mapping(node, deep))


def _place(loader: Any, node: yaml.Node) -> str:
    return f"{loader.where}:{node.start_mark.line + 1}"


def read_text(path: Path) -> str:
    """Return the text of `path`.

    Raises:
        InputError: It is missing, no file, unreadable, too large or not text.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory", hint="name a file in it")
        with path.open("rb") as file:  # a pipe has no size, so it is read to see it
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            size_mb = max(len(data), path.stat().st_size) / 1_000_000
            raise InputError(f"{path} has {size_mb:.0f} MB; at most 1 MB is read")
        return as_text(data, where=str(path))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as err:
        raise InputError(f"{path} cannot be read: {err.strerror or err}") from None


def read_stdin() -> str:
    """Return what stands on standard input, at most `MAX_BYTES` of it.

    Raises:
        InputError: It is too large or not text.
    """
    if sys.stdin is None:
        raise InputError("standard input is closed")
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError("standard input has more than 1 MB; at most 1 MB is read")
    return as_text(data, where="standard input")


def as_text(data: bytes, *, where: str) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Raises:
        InputError: The bytes are not text.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{where} is not a text file") from None
    if "\0" in text:
        raise InputError(f"{where} is not a text file")
    return text


def parse(text: str, *, where: str) -> Data:
    """Return the one document in `text` with every scalar as text; None where it is empty.

    Raises:
        InputError: It is not YAML, repeats a key, or holds a YAML 1.1 surprise.
    """
    loader: Any = None
    try:
        loader = _TextLoader(text)
        loader.where = where
        return loader.get_single_data()
    except UnicodeEncodeError:  # half of a surrogate pair: bytes that the shell could not decode
        raise InputError(f"{where} is not a text") from None
    except yaml.MarkedYAMLError as err:
        line = f":{err.problem_mark.line + 1}" if err.problem_mark else ""
        raise InputError(f"{where}{line}: {err.problem or err.context}") from None
    except yaml.YAMLError as err:
        raise InputError(f"{where} is not YAML: {str(err).splitlines()[0]}") from None
    except RecursionError:
        raise InputError(f"{where} is nested too deeply") from None
    finally:
        if loader is not None:
            loader.dispose()


def build(model: type[R], data: Data, *, where: str, text: str | None = None) -> R:
    """Return `data` as a `model`; `text` is what it was parsed from, to name the line.

    Raises:
        InputError: A key is unknown or a value does not fit.
    """
    try:
        return model.model_validate(data)
    except ValidationError as err:
        found = err.errors(include_url=False)
        # What a key should have been is said of the key that stands there, not as missing.
        first = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
        loc = first["loc"]
        place = f"{where}{_line_of(text, loc) if text else ''}"
        name = ".".join(str(part) for part in loc)
        if first["type"] == "extra_forbidden":
            hint = nearest(str(loc[-1]), _keys_at(model, loc[:-1]))
            raise InputError(f"{place}: unknown key {name!r}", hint=hint) from None
        if first["type"] == "missing":
            raise InputError(f"{place}: {name!r} is missing") from None
        message = first["msg"].removeprefix("Value error, ")
        value = first.get("input")
        shown = f" (got {short(value)})" if isinstance(value, str | int | float) else ""
        label = f"{name}: " if name else ""
        raise InputError(f"{place}: {label}{message[:1].lower()}{message[1:]}{shown}") from None


def short(value: object) -> str:
    """Return `value` as a message shows it: in full where that is short."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _line_of(text: str, loc: tuple[int | str, ...]) -> str:
    """Return `:line` of the deepest node on the way to `loc`."""
    node: Any = yaml.compose(text, Loader=_Loader)
    line = node.start_mark.line if node else 0
    for part in loc:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == part]
            if not found:
                break
            line = found[0][0].start_mark.line
            node = found[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
            line = node.start_mark.line
    return f":{line + 1}"


def _keys_at(model: type[Record], loc: tuple[int | str, ...]) -> set[str]:
    """Return the keys that the record at `loc` knows."""
    schema: dict[str, Any] = model.model_json_schema()
    here: dict[str, Any] = schema
    for part in loc:
        here = _resolved(here, schema)
        if isinstance(part, int):
            here = here.get("items", {})
        else:
            here = here.get("properties", {}).get(part) or here.get("additionalProperties") or {}
    return set(_resolved(here, schema).get("properties", {}))


def _resolved(here: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    for option in [here, *here.get("anyOf", [])]:
        if "$ref" in option:
            found: dict[str, Any] = schema["$defs"][option["$ref"].rsplit("/", 1)[1]]
            return found
        if "items" in option or "properties" in option:
            return dict(option)
    return here
