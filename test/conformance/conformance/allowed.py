# SPDX-License-Identifier: Apache-2.0
"""The differences that are meant: allowed.yaml. Each entry names its scenarios, a channel, an exact field, whether ours is better or equal, and why."""

import yaml

_MEMBERS = {"scenarios", "channel", "field", "ours", "reason"}


class Allowed:
    def __init__(self, file, known_scenarios):
        with open(file, encoding="utf-8") as stream:
            self._entries = yaml.safe_load(stream) or []
        self._by_field = {}
        for entry in self._entries:
            if set(entry) != _MEMBERS or entry["ours"] not in ("better", "equal") or not entry["reason"].strip():
                raise ValueError(f"{file}: an entry has {sorted(_MEMBERS)}, `ours` is better or equal: {entry}")
            for scenario in entry["scenarios"]:
                if scenario not in known_scenarios:
                    raise ValueError(f"{file}: there is no scenario {scenario}")
                key = (scenario, entry["channel"], entry["field"])
                if key in self._by_field:
                    raise ValueError(f"{file}: allowed twice: {key}")
                self._by_field[key] = entry
        self._used = set()

    def __len__(self):
        return len(self._by_field)

    def explains(self, scenario, difference):
        key = (scenario, difference.channel, difference.field)
        if key not in self._by_field:
            return False
        self._used.add(key)
        return True

    def unused(self, scenarios):
        """Entries for these scenarios that no difference has needed."""
        return sorted(k for k in self._by_field if k[0] in scenarios and k not in self._used)
