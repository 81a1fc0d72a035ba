# SPDX-License-Identifier: Apache-2.0
"""The left side of a comparison where there is no other program: what the scenario's file says must be seen, as facts of the behaviour
specification. {channel: {lane: [item, ...]}} as in a recording; an item names the members that count, a lane that is not named is not
compared, and text that begins with ~ is a regular expression."""

import re


def sides(expected, recorded):
    """Expected and recorded, both with what counts only, so that they can be compared as two recordings."""
    left, right = {}, {}
    for channel, lanes in expected.items():
        if channel not in recorded:
            raise ValueError(f"no channel is called {channel}")
        for lane, items in lanes.items():
            seen = recorded[channel].get(lane, [])
            left.setdefault(channel, {})[lane] = items
            right.setdefault(channel, {})[lane] = [
                _project(items[i], item) if i < len(items) else item for i, item in enumerate(seen)]
    return left, right


def _project(expected, seen):
    if isinstance(expected, dict) and isinstance(seen, dict):
        return {key: _project(value, seen[key]) for key, value in expected.items() if key in seen}
    if isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        return [_project(a, b) for a, b in zip(expected, seen)]
    if isinstance(expected, str) and isinstance(seen, str) and expected.startswith("~"):
        return expected if re.search(expected[1:], seen) else seen
    return seen


def filled(value, values):
    """The tree with {name} and the like replaced."""
    if isinstance(value, str):
        for key, text in values.items():
            value = value.replace("{" + key + "}", str(text))
        return value
    if isinstance(value, list):
        return [filled(item, values) for item in value]
    if isinstance(value, dict):
        return {filled(key, values): filled(item, values) for key, item in value.items()}
    return value
