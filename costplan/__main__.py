"""The program: `costplan`, or `python -m costplan`."""

from __future__ import annotations

import gc
import os


def main() -> None:
    """Start the command line, lean: most of a short run is starting it."""
    # A run makes no garbage in cycles worth looking for; looking costs a tenth of it.
    gc.disable()
    # pydantic otherwise searches every installed distribution for plugins; none is wanted.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    from costplan import cli

    cli.main()


if __name__ == "__main__":
    main()
