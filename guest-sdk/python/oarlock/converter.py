"""Conversion of custom resources between the versions of their definition: values that a version lacks, in annotations."""

from __future__ import annotations

import json
from typing import Any

from oarlock.errors import ConversionError

JsonObject = dict[str, Any]


def keep(object: JsonObject, annotation: str, value: Any) -> None:
    """Keeps a value that the object's new version lacks in an annotation, as JSON. None removes the annotation."""
    annotations = object["metadata"].setdefault("annotations", {})
    if value is None:
        annotations.pop(annotation, None)
    else:
        annotations[annotation] = json.dumps(value, separators=(",", ":"))
    _without_empty_annotations(object)


def restore(object: JsonObject, annotation: str) -> Any:
    """Takes a value that `keep` kept out of its annotation; None if there is none. A `ConversionError` when it is not JSON."""
    kept = object["metadata"].get("annotations", {}).pop(annotation, None)
    _without_empty_annotations(object)
    if kept is None:
        return None
    try:
        return json.loads(kept)
    except ValueError as error:
        raise ConversionError(f"annotation {annotation} is not JSON, remove it: {error}") from None


def _without_empty_annotations(object: JsonObject) -> None:
    if object["metadata"].get("annotations") == {}:
        del object["metadata"]["annotations"]
