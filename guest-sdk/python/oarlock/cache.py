"""Small values the host keeps for this plugin between reconciles: in memory, shared by all its instances, bounded (those used
longest ago go first), lost on restart. A hint, never the only place something is known."""

from __future__ import annotations

import json
from typing import Any

from oarlock import host
from oarlock.errors import Duration, milliseconds


def get(key: str, default: Any = None) -> Any:
    """A value. `default`: never set, expired, dropped for room, or no JSON (another version of the plugin wrote it)."""
    kept = host.current().cache_get(key)
    if kept is None:
        return default
    try:
        return json.loads(kept)
    except ValueError:
        return default


def set(key: str, value: Any, *, ttl: Duration | None = None) -> None:
    """Keeps a JSON value for `ttl`; None: as long as there is room."""
    ttl_ms = milliseconds(ttl)
    if ttl_ms == 0:
        return remove(key)
    host.current().cache_set(key, json.dumps(value).encode(), ttl_ms or 0)


def remove(key: str) -> None:
    """Forgets a value."""
    host.current().cache_set(key, b"", 0)
