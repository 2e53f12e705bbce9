"""What the host lends a reconciler. In a component that is the contract's imports; in a native test, a small world in memory.

Everything above goes through `current()`, so one reconciler runs in both unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from oarlock.manifest import Kind

if TYPE_CHECKING:
    from oarlock.http import Request, Response

Level = Literal["debug", "info", "warn", "error"]


@dataclass(frozen=True)
class ListOptions:
    """Which objects to list."""

    namespace: str = ""
    label_selector: str = ""
    owner_uid: str = ""
    limit: int = 0


class Host(Protocol):
    """The contract's imports. JSON is text; errors are those of `oarlock.errors` and `oarlock.http`."""

    def get_object(self, kind: Kind, namespace: str, name: str) -> str | None: ...
    def get_applied(self, kind: Kind, namespace: str, name: str) -> str | None: ...
    def get_live(self, kind: Kind, namespace: str, name: str) -> str | None: ...
    def list_objects(self, kind: Kind, options: ListOptions) -> list[str]: ...
    def list_indexed(self, kind: Kind, index: str, value: str, options: ListOptions) -> list[str]: ...
    def create_two_way(self, kind: Kind, original: str, modified: str) -> str: ...
    def create_three_way(self, kind: Kind, original: str, modified: str, current: str) -> str: ...
    def apply_patch(self, kind: Kind, original: str, patch: str) -> str: ...
    def send(self, request: Request) -> Response: ...
    def cache_get(self, key: str) -> bytes | None: ...
    def cache_set(self, key: str, value: bytes, ttl_ms: int) -> None: ...
    def config_get(self, key: str) -> str | None: ...
    def config_keys(self) -> list[str]: ...
    def log(self, level: Level, message: str, fields: Sequence[tuple[str, str]]) -> None: ...


@dataclass
class _Installed:
    hosts: list[Host] = field(default_factory=list)


_installed = _Installed()


def current() -> Host:
    """The host that lends now. Raises `RuntimeError` outside a call: at import, or in a test without a runner."""
    if not _installed.hosts:
        raise RuntimeError(
            "there is no host here: only desired, actual and patch may ask it, in a component or under oarlock.testing.Runner"
        )
    return _installed.hosts[-1]


def available() -> bool:
    """Whether there is a host to ask."""
    return bool(_installed.hosts)


@contextmanager
def lent(host: Host) -> Iterator[None]:
    """Lends `host` for as long as the block runs."""
    _installed.hosts.append(host)
    try:
        yield
    finally:
        _installed.hosts.pop()
