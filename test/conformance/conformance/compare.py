# SPDX-License-Identifier: Apache-2.0
"""The differences between two recordings, each at an exact field.

A field reads "LANE [INDEX] PATH": the item's number in upstream's lane, and the members down to the first value that differs. An item that
only one side has is "LANE [INDEX] missing" or "LANE [INDEX] extra"."""

import difflib
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    channel: str
    field: str
    upstream: str
    ours: str


def recordings(upstream, ours):
    found = []
    for channel in upstream:
        for lane in sorted(set(upstream[channel]) | set(ours[channel])):
            found += _lane(channel, lane, upstream[channel].get(lane, []), ours[channel].get(lane, []))
    return found


def _lane(channel, lane, left, right):
    found = []
    # Equal shapes are paired, so that one item too many does not make all later ones differ.
    matcher = difflib.SequenceMatcher(None, [_shape(i) for i in left], [_shape(i) for i in right], autojunk=False)
    for tag, l1, l2, r1, r2 in matcher.get_opcodes():
        pairs = min(l2 - l1, r2 - r1)
        for i in range(pairs):
            for path, a, b in _tree("", left[l1 + i], right[r1 + i]):
                found.append(Difference(channel, f"{lane} [{l1 + i}]{path}", a, b))
        for i in range(l1 + pairs, l2):
            found.append(Difference(channel, f"{lane} [{i}] missing", _short(left[i]), "-"))
        for i in range(r1 + pairs, r2):
            found.append(Difference(channel, f"{lane} [{l2 + i - r1 - pairs}] extra", "-", _short(right[i])))
    return found


def _shape(item):
    keys = ("method", "path", "answer", "status", "what", "line", "record", "form", "reason", "message", "request")
    return json.dumps({k: item[k] for k in keys if k in item}, sort_keys=True, default=str)


def _tree(path, left, right):
    if type(left) is not type(right):
        yield path, _short(left), _short(right)
    elif isinstance(left, dict):
        for key in sorted(set(left) | set(right)):
            if key not in left or key not in right:
                yield f"{path} {key}", _short(left.get(key, "-")), _short(right.get(key, "-"))
            else:
                yield from _tree(f"{path} {key}", left[key], right[key])
    elif isinstance(left, list):
        if left != right and (len(left) != len(right) or all(not isinstance(i, (dict, list)) for i in left)):
            yield path, _short(left), _short(right)
        elif left != right:
            for i, (a, b) in enumerate(zip(left, right)):
                yield from _tree(f"{path} {i}", a, b)
    elif left != right:
        yield path, _short(left), _short(right)


def _short(value):
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 600 else text[:600] + "…"
