"""Objects through the types of Python: the checked programs read and write them, and msgspec reads them into the types."""

import importlib
import json
import sys

import msgspec


def text(value: object) -> str:
    """Equal for equal JSON: to Python, True is 1."""
    return json.dumps(value, sort_keys=True)


def check(name: str, kind: str) -> int:
    made = importlib.import_module(f"{name}_objects")
    types = getattr(importlib.import_module(name), kind)
    with open(f"../objects/{name}.jsonl", encoding="utf-8") as file:
        lines = list(file)
    for number, (line, literal) in enumerate(zip(lines, made.objects, strict=True)):
        if text(json.loads(made.through(line))) != text(json.loads(line)):
            sys.exit(f"{name}: object {number} is written otherwise")
        # As the literals, msgspec leaves out the fields that the types do not declare.
        if text(json.loads(msgspec.json.encode(msgspec.json.decode(line, type=types)))) != text(literal):
            sys.exit(f"{name}: object {number} is read otherwise")
    for number, (_, broken) in enumerate(zip(lines, made.broken, strict=True)):
        try:
            msgspec.convert(broken, types)
        except msgspec.ValidationError:
            continue
        sys.exit(f"{name}: broken object {number} is accepted: {broken}")
    return len(lines)


with open("../names.txt", encoding="utf-8") as names:
    for entry in names:
        name, _, kind = entry.split()
        print(name, check(name, kind))
