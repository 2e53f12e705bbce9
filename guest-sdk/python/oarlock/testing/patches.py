"""What patches make of documents."""

from __future__ import annotations

import copy
from typing import Any

from oarlock.errors import TerminalError

#: Lists of built-in kinds that merge by the value of a key.
MERGE_KEYS = {
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
#: Lists of built-in kinds that are sets.
SETS = frozenset({"finalizers"})

_MISSING = object()


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(target: Any, patch: list[dict[str, Any]]) -> Any:
    """RFC 6902. Raises `TerminalError` where an operation does not fit."""
    document = copy.deepcopy(target)
    for one in patch:
        try:
            document = _operation(document, one)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise TerminalError(f"JSON patch: {one}: {error!r}") from None
    return document


def _operation(document: Any, one: dict[str, Any]) -> Any:
    path = _path(one["path"])
    match one["op"]:
        case "add":
            return _add(document, path, copy.deepcopy(one["value"]))
        case "remove":
            return _remove(document, path)
        case "replace":
            _at(document, path)
            return _add(_remove(document, path), path, copy.deepcopy(one["value"])) if path else copy.deepcopy(one["value"])
        case "move":
            moved = _at(document, _path(one["from"]))
            return _add(_remove(document, _path(one["from"])), path, moved)
        case "copy":
            return _add(document, path, copy.deepcopy(_at(document, _path(one["from"]))))
        case "test":
            if not same(_at(document, path), one["value"]):
                raise ValueError("the test failed")
            return document
    raise ValueError("no such operation")


def _path(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"not a JSON pointer: {pointer}")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _at(document: Any, path: list[str]) -> Any:
    for part in path:
        document = document[_index(part, document)] if isinstance(document, list) else document[part]
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    holder = _at(document, path[:-1])
    if isinstance(holder, list):
        place = len(holder) if path[-1] == "-" else int(path[-1])
        if place > len(holder):
            raise IndexError(path[-1])
        holder.insert(place, value)
    else:
        holder[path[-1]] = value
    return document


def _remove(document: Any, path: list[str]) -> Any:
    holder = _at(document, path[:-1])
    del holder[_index(path[-1], holder) if isinstance(holder, list) else path[-1]]
    return document


def _index(part: str, of: list[Any]) -> int:
    if not part.isdigit() or int(part) >= len(of):
        raise IndexError(part)
    return int(part)


def strategic_patch(target: Any, patch: Any, field: str = "") -> Any:
    """Strategic merge, of the lists in `MERGE_KEYS` and `SETS`; all others are replaced."""
    if isinstance(patch, dict):
        if patch.get("$patch") == "replace":
            return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
        merged = dict(target) if isinstance(target, dict) else {}
        for key, value in patch.items():
            if value is None:
                merged.pop(key, None)
            elif key == "$retainKeys":
                merged = {known: kept for known, kept in merged.items() if known in value}
            elif key.startswith("$deleteFromPrimitiveList/"):
                name = key.partition("/")[2]
                merged[name] = [one for one in merged.get(name, []) if one not in value]
            elif not key.startswith("$"):
                merged[key] = strategic_patch(merged.get(key), value, key)
        return merged
    known = target if isinstance(target, list) else []
    if isinstance(patch, list) and field in MERGE_KEYS:
        return _merge_by(MERGE_KEYS[field], known, patch)
    if isinstance(patch, list) and field in SETS:
        return known + [one for one in patch if one not in known]
    return copy.deepcopy(patch)


def _merge_by(by: str, known: list[Any], patch: list[Any]) -> list[Any]:
    merged = list(known)
    for one in patch:
        place = next((place for place, old in enumerate(merged) if old.get(by) == one.get(by)), None)
        if one.get("$patch") == "delete":
            merged = [old for old in merged if old.get(by) != one.get(by)]
        elif place is None:
            merged.append(strategic_patch({}, one))
        else:
            merged[place] = strategic_patch(merged[place], one)
    return merged


def strategic_difference(original: Any, modified: Any) -> dict[str, Any]:
    """The strategic merge patch that makes `modified` of `original`."""
    patch: dict[str, Any] = {key: None for key in original if key not in modified}
    for key, value in modified.items():
        old = original.get(key, _MISSING)
        if old is not _MISSING and same(old, value):
            continue
        if isinstance(old, dict) and isinstance(value, dict):
            patch[key] = strategic_difference(old, value)
        elif isinstance(old, list) and isinstance(value, list) and key in MERGE_KEYS:
            patch[key] = _list_difference(MERGE_KEYS[key], old, value)
        elif isinstance(old, list) and isinstance(value, list) and key in SETS:
            gone = [one for one in old if one not in value]
            patch |= {f"$deleteFromPrimitiveList/{key}": gone} if gone else {}
            patch |= {key: new} if (new := [one for one in value if one not in old]) else {}
        else:
            patch[key] = copy.deepcopy(value)
    return patch


def _list_difference(by: str, original: list[Any], modified: list[Any]) -> list[Any]:
    old = {one.get(by): one for one in original}
    new = {one.get(by): one for one in modified}
    changes = []
    for name, one in new.items():
        if name not in old:
            changes.append(copy.deepcopy(one))
        elif not same(old[name], one):
            changes.append({by: name} | strategic_difference(old[name], one))
    return changes + [{by: name, "$patch": "delete"} for name in old if name not in new]


def applied(live: Any, before: Any, document: Any, field: str = "") -> Any:
    """Server-side apply by one manager who takes over what others own: `document` over `live`, without what only `before`, the document
    of the last apply, had."""
    if isinstance(document, dict):
        merged = dict(live) if isinstance(live, dict) else {}
        before = before if isinstance(before, dict) else {}
        for key in before:
            if key not in document and key in merged:
                kept = without(merged[key], before[key], key)
                if kept is _MISSING:
                    del merged[key]
                else:
                    merged[key] = kept
        for key, value in document.items():
            merged[key] = applied(merged.get(key), before.get(key), value, key)
        return merged
    if isinstance(document, list) and field in SETS:
        known = live if isinstance(live, list) else []
        gone = [one for one in before or [] if one not in document]
        return [one for one in known if one not in gone] + [one for one in document if one not in known]
    if isinstance(document, list) and field in MERGE_KEYS:
        return _applied_list(MERGE_KEYS[field], live or [], before or [], document)
    return copy.deepcopy(document)


def _applied_list(by: str, live: list[Any], before: list[Any], document: list[Any]) -> list[Any]:
    old = {one.get(by): one for one in before}
    new = {one.get(by): one for one in document}
    merged = []
    for one in live:
        name = one.get(by)
        if name in new:
            merged.append(applied(one, old.get(name), new.pop(name)))
        elif name not in old:
            merged.append(one)
        else:
            kept = without(one, {key: value for key, value in old[name].items() if key != by})
            # With nothing but its key left, the element was this plugin's alone.
            if set(kept) - {by}:
                merged.append(kept)
    return merged + [copy.deepcopy(one) for one in new.values()]


def without(live: Any, owned: Any, field: str = "") -> Any:
    """`live` without what `owned` holds; `_MISSING` where nothing is left."""
    if isinstance(live, dict) and isinstance(owned, dict):
        kept = {}
        for key, value in live.items():
            left = without(value, owned[key], key) if key in owned else value
            if left is not _MISSING:
                kept[key] = left
        return kept or _MISSING
    if isinstance(live, list) and isinstance(owned, list) and field in MERGE_KEYS:
        left = _applied_list(MERGE_KEYS[field], live, owned, [])
        return left or _MISSING
    if isinstance(live, list) and isinstance(owned, list) and field in SETS:
        return [one for one in live if one not in owned] or _MISSING
    return _MISSING


def part(live: Any, document: Any, field: str = "") -> Any:
    """Of `live` what `document` names; `_MISSING` where nothing of it is there."""
    if isinstance(live, dict) and isinstance(document, dict):
        if not document:
            return {}
        found = {key: part(live[key], value, key) for key, value in document.items() if key in live}
        return {key: value for key, value in found.items() if value is not _MISSING} or _MISSING
    if isinstance(live, list) and isinstance(document, list) and field in MERGE_KEYS:
        by = MERGE_KEYS[field]
        known = {one.get(by): one for one in live}
        found_list = [part(known[one.get(by)], one) for one in document if one.get(by) in known]
        return found_list or _MISSING
    if isinstance(live, list) and isinstance(document, list) and field in SETS:
        return [one for one in document if one in live] or _MISSING
    return live


def is_missing(value: Any) -> bool:
    """Whether `part` or `without` found nothing."""
    return value is _MISSING


def same(a: Any, b: Any) -> bool:
    """As JSON values: `1` and `1.0` are the same number, `true` and `1` are not, null and absent are different things."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(one, other) for one, other in zip(a, b, strict=True))
    return bool(a == b)
