"""Strategic merge patch as client-go has it, carried out by the host. Raises `TerminalError` when a document does not fit its kind."""

from __future__ import annotations

import json
from typing import Any

from oarlock import host
from oarlock.manifest import Kind

JsonObject = dict[str, Any]


def create_two_way(kind: Kind, original: JsonObject, modified: JsonObject) -> JsonObject:
    """The patch that makes `modified` of `original`."""
    return _object(host.current().create_two_way(kind, json.dumps(original), json.dumps(modified)))


def create_three_way(kind: Kind, original: JsonObject, modified: JsonObject, current: JsonObject) -> JsonObject:
    """The patch that brings `current` what changed from `original` to `modified`, and leaves alone what others wrote."""
    texts = (json.dumps(original), json.dumps(modified), json.dumps(current))
    return _object(host.current().create_three_way(kind, *texts))


def apply_patch(kind: Kind, original: JsonObject, patch: JsonObject) -> JsonObject:
    """`original` with `patch` applied."""
    return _object(host.current().apply_patch(kind, json.dumps(original), json.dumps(patch)))


def _object(text: str) -> JsonObject:
    value: JsonObject = json.loads(text)
    return value
