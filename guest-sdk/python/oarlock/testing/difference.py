"""Where two states differ, in a few short lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oarlock.testing import patches

#: More differences than this are counted.
LINES = 10
#: Longer values are cut.
CHARACTERS = 100

_MISSING = object()


def differences(desired: Any, actual: Any) -> list[str]:
    """One line for each place: `spec.replicas: desired 3, actual 1`."""
    found = list(_differences("", desired, actual))
    more = [f"and {len(found) - LINES} more differences"] if len(found) > LINES else []
    return found[:LINES] + more


def shortened(text: str, characters: int = CHARACTERS) -> str:
    """The text, cut behind so many characters."""
    return text if len(text) <= characters else f"{text[:characters]}… ({len(text)} characters)"


def _differences(path: str, desired: Any, actual: Any) -> Iterator[str]:
    if isinstance(desired, dict) and isinstance(actual, dict):
        for key in [*desired, *(key for key in actual if key not in desired)]:
            below = f"{path}.{key}" if path else str(key)
            yield from _differences(below, desired.get(key, _MISSING), actual.get(key, _MISSING))
    elif isinstance(desired, list) and isinstance(actual, list):
        for at in range(max(len(desired), len(actual))):
            one, other = (states[at] if at < len(states) else _MISSING for states in (desired, actual))
            yield from _differences(f"{path}[{at}]", one, other)
    elif desired is _MISSING or actual is _MISSING or not patches.same(desired, actual):
        yield f"{path or 'the state'}: desired {_text(desired)}, actual {_text(actual)}"


def _text(value: Any) -> str:
    return "nothing" if value is _MISSING else shortened(json.dumps(value, ensure_ascii=False))
