"""The SQLite file of the ledger: opened without harm to what is there, written all or nothing."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Final

from costplan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERSION: Final = 1
"""Of the tables, in `user_version`. History: 1: first form."""
APPLICATION_ID: Final = 0x636F7374
"""`cost`: tells this file from the database of another program."""
DATABASE_START: Final = b"SQLite format 3\0"
BUSY_TIMEOUT_S: Final = 30
WAL_TRIES: Final = 5

TABLES: Final = (
    """CREATE TABLE absences (
        id INTEGER PRIMARY KEY, box TEXT NOT NULL, left_us INTEGER NOT NULL, back_us INTEGER,
        CHECK (back_us > left_us))""",
    "CREATE UNIQUE INDEX away_once ON absences (box) WHERE back_us IS NULL",
    """CREATE TABLE restarts (
        id INTEGER PRIMARY KEY, box TEXT NOT NULL, provider TEXT, at_us INTEGER NOT NULL,
        ok INTEGER NOT NULL CHECK (ok IN (0, 1)))""",
    """CREATE TABLE actions (
        id INTEGER PRIMARY KEY, box TEXT NOT NULL, action TEXT NOT NULL,
        step TEXT NOT NULL CHECK (step IN ('asked', 'called', 'confirmed', 'released')),
        asked_us INTEGER NOT NULL, called_us INTEGER, confirmed_us INTEGER, released_us INTEGER)""",
    """CREATE UNIQUE INDEX claimed_once ON actions (box, action)
        WHERE step IN ('asked', 'called')""",
    """CREATE TABLE estimates (
        id INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, job TEXT NOT NULL, sku TEXT NOT NULL,
        total_usd TEXT NOT NULL)""",
)

# What SQLite says -> what people read. Its codes have names only since Python 3.11.
_SAID: Final = (
    ("locked", "is being written by another costplan", "try again"),
    ("readonly", "cannot be written", "name another place with COSTPLAN_LEDGER"),
    ("unable to open", "cannot be opened or made", "name another place with COSTPLAN_LEDGER"),
    ("full", "has no room left on its disk: nothing was recorded", "make room and try again"),
    ("not a database", "is no ledger and is left as it is", "name another file"),
    ("malformed", "is damaged", "put it aside; a new one will be made"),
)


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to the ledger in `path`, made if nothing is there.

    Raises:
        InputError: It cannot be opened or made, or is a file of another kind or a newer version.
    """
    _check_kind(path)
    with told(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rwc",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,  # transactions are begun by `writing`, and by nothing else
        )
    try:
        with told(path):
            _prepare(connection, path)
    except InputError:
        connection.close()
        raise
    return connection


def identity(path: Path) -> tuple[int, int] | None:
    """Return which file lies in `path`; None where there is none.

    SQLite writes on into a file that was removed, and everybody else into the new one.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what SQLite says of `path` into errors that people read."""
    try:
        yield
    except sqlite3.Error as err:
        for part, why, hint in _SAID:
            if part in str(err):
                raise InputError(f"{path} {why}", hint=hint) from None
        raise InputError(f"{path} cannot be used: {err}") from None


@contextlib.contextmanager
def writing(connection: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Cursor]:
    """Run what is in the block as one change: on disk when the block ends, or never begun.

    Raises:
        InputError: Another one writes, the disk is full, or the file cannot be written.
    """
    with told(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection.cursor()
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _check_kind(path: Path) -> None:
    """Refuse a file of another kind before SQLite touches it; an empty one may be filled."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            return
        if not path.is_file():
            raise InputError(f"{path} is no file", hint="name a file with COSTPLAN_LEDGER")
        with path.open("rb") as file:
            start = file.read(len(DATABASE_START))
    except (OSError, ValueError) as err:
        why = getattr(err, "strerror", None) or err
        raise InputError(
            f"{path} cannot be opened or made: {why}",
            hint="name another place with COSTPLAN_LEDGER",
        ) from None
    if start not in (b"", DATABASE_START):
        raise InputError(f"{path} is no ledger and is left as it is", hint="name another file")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables where there are none; what is acknowledged is on disk from here on."""
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA synchronous = FULL")
    # One reading for all three numbers: another process may be making the tables now.
    connection.execute("BEGIN")
    try:
        is_ours = _is_ours(connection, path)
    finally:
        connection.execute("ROLLBACK")
    if not is_ours:
        with writing(connection, path) as cursor:
            if not _is_ours(connection, path):  # another one may have been faster
                for statement in TABLES:
                    cursor.execute(statement)
                cursor.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                cursor.execute(f"PRAGMA user_version = {VERSION}")
    _use_wal(connection)


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Return True where the tables are there, False where nothing is; refuse the rest."""
    version = _number(connection, "PRAGMA user_version")
    application = _number(connection, "PRAGMA application_id")
    if application == APPLICATION_ID and version == VERSION:
        return True
    if application == APPLICATION_ID:
        raise InputError(
            f"{path} has version {version}, this costplan knows {VERSION}",
            hint="update costplan" if version > VERSION else None,
        )
    if application or version or _number(connection, "SELECT count(*) FROM sqlite_master"):
        raise InputError(
            f"{path} is the database of another program and is left as it is",
            hint="name another file",
        )
    return False


def _number(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])


def _use_wal(connection: sqlite3.Connection) -> None:
    """Let readers read while one writes; a disk that cannot keeps SQLite's own safe way."""
    for left in reversed(range(WAL_TRIES)):
        try:
            # The switch does not wait for others; an empty change before it does.
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as err:
            if "locked" not in str(err) or not left:
                raise
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
