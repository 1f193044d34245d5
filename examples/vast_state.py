#!/usr/bin/env python3
"""Print running, stopped or gone for a vast.ai instance: a --state-cmd.

    python examples/vast_state.py INSTANCE_ID

Asks `vastai show instances --raw`, which reads the key from its own file or from VAST_API_KEY. Any
other state is printed as it stands: costplan takes it for unknown and does nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys


def state(instances: list[dict[str, object]], box: str) -> str:
    """Return the state of the instance `box` among those that an account has."""
    mine = [each for each in instances if str(each.get("id")) == box]
    if not mine:
        return "gone"
    actual = str(mine[0].get("actual_status"))
    # A container that ended by itself is `exited` too: only with the intent it is a stop.
    if actual in ("stopped", "exited") and mine[0].get("intended_status") == "stopped":
        return "stopped"
    return actual


def main() -> None:
    """Ask, and print one word; fail where the answer is no list of instances."""
    done = subprocess.run(
        ["vastai", "show", "instances", "--raw"], capture_output=True, text=True, check=True
    )
    instances = json.loads(done.stdout)
    if not isinstance(instances, list) or not all(isinstance(each, dict) for each in instances):
        raise SystemExit("vastai printed no list of instances")
    print(state(instances, sys.argv[1]))


if __name__ == "__main__":
    main()
