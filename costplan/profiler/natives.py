"""Libraries that open files by name in native code, where no wrapped `open` is called.

Each entry says which function takes a name, where, and whether it writes. Calls that would change
something no folder can stand for, as a push to a hub does, are refused.
"""

from __future__ import annotations

import os
import shutil
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Place = Callable[[Any, int], Any]
    """Where a path leads, opened with these flags; a path that leads to itself comes back as is."""

WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
UPDATE: Final = os.O_RDWR | os.O_CREAT
H5F_ACC_RDWR: Final = 1  # from H5Fpublic.h


class Native(NamedTuple):
    """A function that takes the name of a file."""

    name: str
    """With the class it belongs to, below the module."""
    position: int
    keyword: str
    flags: int | Callable[..., int]
    """With which flags the file is opened, or how the arguments tell."""


def _h5_flags(name: Any, flags: int = H5F_ACC_RDWR, fapl: Any = None) -> int:
    return os.O_RDWR if flags & H5F_ACC_RDWR else os.O_RDONLY


def _mapped_flags(filename: Any, shared: Any = False, *_: Any, **__: Any) -> int:
    return os.O_RDWR if shared else os.O_RDONLY


FUNCTIONS: Final[dict[str, tuple[Native, ...]]] = {
    "torch": (
        Native("_C.PyTorchFileWriter", 0, "file_name", WRITE),
        Native("_C.PyTorchFileReader", 0, "name", os.O_RDONLY),
        Native("_C.ScriptModule.save", 1, "filename", WRITE),
        Native("_C.ScriptFunction.save", 1, "filename", WRITE),
        Native("UntypedStorage.from_file", 0, "filename", _mapped_flags),
        Native("from_file", 0, "filename", _mapped_flags),
    ),
    "safetensors": (
        Native("serialize_file", 1, "filename", WRITE),
        Native("safe_open", 0, "filename", os.O_RDONLY),
    ),
    "h5py": (
        Native("h5f.open", 0, "name", _h5_flags),
        Native("h5f.create", 0, "name", WRITE),
    ),
    "cv2": (
        Native("imwrite", 0, "filename", WRITE),
        Native("imread", 0, "filename", os.O_RDONLY),
        Native("VideoWriter", 0, "filename", WRITE),
    ),
}
FUNCTIONS["safetensors.torch"] = FUNCTIONS["safetensors.numpy"] = FUNCTIONS["safetensors"]
REFUSED: Final = {
    "huggingface_hub.hf_api": tuple(
        f"{owner}{name}"
        for owner in ("HfApi.", "")
        for name in ("create_commit", "create_repo", "delete_repo", "upload_large_folder")
    ),
    "aim.sdk.run": ("Run.__init__",),
}
MODULES: Final = frozenset({*FUNCTIONS, *REFUSED, "sqlite3"})
"""The modules that `protect` wants to see once they are imported."""

_DONE: Final = "_costplan_guards"


def protect(module: ModuleType, place: Place, refused: Callable[[str], None]) -> None:
    """Redirect what `module` writes by name, once."""
    if getattr(module, _DONE, False) or module.__name__ not in MODULES:
        return
    setattr(module, _DONE, True)
    for native in FUNCTIONS.get(module.__name__, ()):
        _replace(module, native.name, partial(_redirected, native, place))
    for name in REFUSED.get(module.__name__, ()):
        _replace(module, name, partial(_refusing, f"{module.__name__}.{name}", refused))
    if module.__name__ == "sqlite3":
        _replace(module, "connect", partial(_connecting, place))
        _replace(module, "dbapi2.connect", partial(_connecting, place))


def _replace(module: ModuleType, name: str, wrapped: Callable[[Any], Any]) -> None:
    """Put a wrapped function in the place of `name`, where this version of the library has it."""
    owner: Any = module
    *above, last = name.split(".")
    for part in above:
        owner = getattr(owner, part, None)
    real = getattr(owner, last, None)
    if real is not None and not hasattr(real, _DONE):
        setattr(owner, last, wrapped(real))


def _redirected(native: Native, place: Place, real: Any) -> Any:
    if isinstance(real, type) and native.name.startswith("_C."):
        return _subclass(native, place, real)

    @wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _placed(native, place, args, kwargs)
        return real(*args, **kwargs)

    setattr(call, _DONE, True)
    # A function in a class would take the class for its first argument.
    return staticmethod(call) if native.name.startswith("UntypedStorage.") else call


def _subclass(native: Native, place: Place, real: Any) -> type:
    """Return the class with its name of a file redirected: torch asks for instances of it."""

    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        args, kwargs = _placed(native, place, args, kwargs)
        real.__init__(self, *args, **kwargs)

    return type(real.__name__, (real,), {"__init__": start, "__doc__": real.__doc__, _DONE: True})


def _placed(
    native: Native, place: Place, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with the path that leads to the file."""
    flags = native.flags if isinstance(native.flags, int) else native.flags(*args, **kwargs)
    if native.keyword in kwargs:
        kwargs = {**kwargs, native.keyword: place(kwargs[native.keyword], flags)}
    elif len(args) > native.position:
        at = native.position
        args = (*args[:at], place(args[at], flags), *args[at + 1 :])
    return args, kwargs


def _refusing(name: str, refused: Callable[[str], None], real: Any) -> Any:
    @wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        refused(name)

    setattr(call, _DONE, True)
    return call


def _connecting(place: Place, real: Any) -> Any:
    """Return `sqlite3.connect` on the twin: it opens for writing whatever it is asked to do."""

    @wraps(real)
    def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
        return real(_database(database, place, is_uri=bool(kwargs.get("uri"))), *args, **kwargs)

    return connect


def _database(database: Any, place: Place, *, is_uri: bool) -> Any:
    text = os.fsdecode(database) if isinstance(database, (str, bytes, os.PathLike)) else ""
    if not text or text == ":memory:":
        return database
    if not is_uri or not text.startswith("file:"):
        return _with_log(database, place)
    path, mark, query = text.removeprefix("file:").partition("?")
    path = unquote(path.removeprefix("//localhost") if path.startswith("//localhost") else path)
    if "mode=memory" in query or path in {"", ":memory:"}:
        return database
    read_only = "mode=ro" in query or "immutable=1" in query
    there = place(path, os.O_RDONLY) if read_only else _with_log(path, place)
    return f"file:{quote(there)}{mark}{query}"


def _with_log(path: Any, place: Place) -> Any:
    """Return the twin of a database; what its write-ahead log holds comes along, once."""
    before, there = place(path, os.O_RDONLY), place(path, UPDATE)
    log = os.fsdecode(path) + "-wal"
    if before == path and there != path and os.path.exists(log):
        shutil.copy(log, os.fsdecode(there) + "-wal")
    return there
