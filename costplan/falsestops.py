"""Commands that look like a stop and are none: the bill goes on, or the box is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costplan.box.guest import is_guest_shutdown
from costplan.stopping import stop_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.acting import ActName
    from costplan.records.providers import Provider


def why_false(
    action: ActName, command: Sequence[str] | None, provider: Provider | None
) -> str | None:
    """Return why a command at a provider is not the action it shall be; None where it may be."""
    if action == "stop" and provider is not None:
        facts = stop_facts(provider)
        if facts.action is None:
            return facts.why_not
    if command is None or not is_guest_shutdown(command):
        return None
    return _why_guest(action, provider)


def _why_guest(action: ActName, provider: Provider | None) -> str | None:
    if provider is None:
        return (
            "a shutdown from inside the box does not end the bill at most providers: name yours "
            "with --provider, or use its own command"
        )
    done = provider.actions.get("guest_shutdown")
    if done is None:
        return f"nobody says that a shutdown from inside ends the bill at {provider.name}"
    if (done.state == "destroyed") != (action == "destroy"):
        what = "destroys the box" if done.state == "destroyed" else "does not destroy it"
        return f"at {provider.name} a shutdown from inside {what}"
    if provider.meter("gpu", done.state) is not None:
        words = done.state.replace("_", " ")
        return f"at {provider.name} a shutdown from inside leaves the box {words}: its GPU bills on"
    return None
