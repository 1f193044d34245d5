"""The program: `costplan`, or `python -m costplan`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Start the command line, lean: most of a short run is starting and ending it."""
    # A run makes no garbage in cycles worth looking for; looking costs a tenth of it.
    gc.disable()
    # pydantic otherwise searches every installed distribution for plugins; none is wanted.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    try:
        from costplan import cli

        cli.main()
        code = 0
    except KeyboardInterrupt:  # while still importing; later the parser turns it into 130
        code = 130
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    _leave(code)


def _leave(code: int) -> None:
    """End without freeing what was built, which takes an eighth of a short run."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:  # the reader has gone; what it wanted has been written
            continue
    os._exit(code)


if __name__ == "__main__":
    main()
