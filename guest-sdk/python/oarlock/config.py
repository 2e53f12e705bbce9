"""The plugin's configuration: values of its grant, and of secrets it was granted, as text."""

from __future__ import annotations

from typing import overload

from oarlock import host
from oarlock.errors import TerminalError


@overload
def get(key: str) -> str | None: ...
@overload
def get(key: str, default: str) -> str: ...
def get(key: str, default: str | None = None) -> str | None:
    """A value. `default`: not set, or set to nothing."""
    return host.current().config_get(key) or default


def require(key: str) -> str:
    """A value that must be set. Raises `TerminalError`, naming the key, where it is not."""
    value = get(key)
    if value is None:
        raise TerminalError(f"the plugin's configuration does not set {key}")
    return value


def keys() -> list[str]:
    """Every key that is set, in order."""
    return host.current().config_keys()
