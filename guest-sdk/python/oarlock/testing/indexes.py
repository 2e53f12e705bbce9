"""The values of an object in an index of the manifest: a path of field names, `['name']`, `[0]` and `[*]`, or a label."""

from __future__ import annotations

import re
from typing import Any

from oarlock.manifest import Index

_STEP = re.compile(
    r"""\.?(?:\[(?P<item>-?\d+)\]|(?P<all>\[\*\]|\*)|\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]|(?P<field>(?:\\.|[^.\[\]()=!<>\\?@ '"*])+))"""
)


def values(index: Index, live: dict[str, Any]) -> list[str]:
    if index.label:
        labels = live["metadata"].get("labels") or {}
        return [labels[index.label]] if index.label in labels else []
    path = index.json_path.strip()
    path = (path[1:-1] if path.startswith("{") and path.endswith("}") else path).removeprefix("$")
    found: list[Any] = [live]
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"the index {index.name} has a json_path that is no index: {index.json_path}")
        found = [value for one in found for value in _follow(step, one)]
        at = step.end()
    flat = [value for one in found for value in (one if isinstance(one, list) else [one])]
    return [_text(value) for value in flat if isinstance(value, str | int)]


def _follow(step: re.Match[str], value: Any) -> list[Any]:
    match value:
        case list() if step["item"]:
            item = int(step["item"])
            return [value[item]] if -len(value) <= item < len(value) else []
        case list() if step["all"]:
            return value
        case dict() if step["all"]:
            return list(value.values())
        case dict() if not step["item"]:
            name = re.sub(r"\\(.)", r"\1", step["field"]) if step["field"] else step["quoted"]
            return [value[name]] if name in value else []
    return []


def _text(value: str | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
