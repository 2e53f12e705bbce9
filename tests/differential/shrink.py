"""Makes a sequence that differs as short as it can be and still differs in the same way."""
import copy
import time

from schemas import get, paths, without


def flat(steps, at=()):
    """The places of all steps, those inside of watches too."""
    for i, step in enumerate(steps):
        yield at + (i,)
        for sub in flat(step.get("steps", []), at + (i, "steps")):
            yield sub


def shorter(case, index):
    """The case without the steps behind the one with this number (counted as the replayer counts)."""
    case = copy.deepcopy(case)
    places = list(flat(case["steps"]))
    # A step's number is given when it begins: those of a watch follow it.
    end = places[index - 1]
    step = get(case["steps"], end)
    inner = len(list(flat(step.get("steps", []))))
    for place in reversed(places[index + inner:]):
        if place != end[:len(place)]:
            del get(case["steps"], place[:-1])[place[-1]]
    return case


def candidates(case):
    """Cases that are a little smaller: fewer steps first, then less in them."""
    places = list(flat(case["steps"]))
    for place in reversed(places):
        yield {**case, "steps": without(case["steps"], place)}
    for place in reversed(places):
        step = get(case["steps"], place)
        for key in ("body", "headers", "accept", "query", "ignore"):
            if key not in step or step.get("unchecked"):
                continue
            if key != "body" and not (key == "query" and (step.get("method") == "DELETE" or step.get("contentType", "").startswith("application/apply"))):
                yield {**case, "steps": without(case["steps"], place + (key,))}
            if not isinstance(step[key], (dict, list)):
                continue
            for inner in sorted((p for p in paths(step[key]) if p), key=len):
                if key == "query" and inner[0] in ("labelSelector", "fieldManager") or inner[-1] in ("apiVersion", "kind") and len(inner) == 1:
                    continue
                yield {**case, "steps": without(case["steps"], place + (key,) + inner)}


def shrink(case, still, seconds=20):
    """The smallest case for which `still(case)` holds that is found in this time."""
    deadline = time.time() + seconds
    changed = True
    while changed and time.time() < deadline:
        changed = False
        for candidate in candidates(case):
            if time.time() > deadline:
                break
            if candidate["steps"] and still(candidate):
                case, changed = candidate, True
                break
    return case
