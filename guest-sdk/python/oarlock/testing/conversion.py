"""What the host allows and refuses of a conversion."""

from __future__ import annotations

from typing import Any

from oarlock.testing.world import World

JsonObject = dict[str, Any]


class LogOnly:
    """The imports of a call of `convert`: the log, and nothing else."""

    def __init__(self, world: World) -> None:
        self.log = world.log

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"convert used {name}: the only import that works in a conversion is log")


def check_converted(object: JsonObject, converted: JsonObject, desired: str) -> None:
    """Raises `ValueError` for an answer that is not the same object in the desired version."""
    if converted.get("apiVersion") != desired:
        raise ValueError(f"convert answered apiVersion {converted.get('apiVersion')!r} instead of {desired!r}")
    if converted.get("kind") != object.get("kind"):
        raise ValueError("convert answered another kind than the object has")
    before, after = object.get("metadata", {}), converted.get("metadata", {})
    for field in ("name", "namespace", "uid"):
        if before.get(field) != after.get(field):
            raise ValueError(f"convert answered another metadata.{field} than the object has")
