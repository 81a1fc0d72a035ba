# SPDX-License-Identifier: Apache-2.0
"""The Prometheus text format, as far as the recordings need it."""

import re

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

# Families that say something about the Go runtime, or come from parts of the API server's library that a sidecar happens to link.
MEANINGLESS = ("go_", "apiserver_", "authentication_", "authorization_", "aggregator_", "hidden_metric", "registered_metric", "disabled_metric",
               "kubernetes_", "field_validation_", "scrape_", "version_info", "running_managed_controllers", "rest_client_", "cardinality_")
# Of these the numbers follow from what the scenario does, and are compared.
_COUNTED = ("csi_sidecar_operations_seconds", "controller_")


def parse(text):
    """family: {"type", "help", "samples": {labels: value or "present"}, "buckets"}."""
    families = {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            families.setdefault(name, {"samples": {}})["help"] = words
        elif line.startswith("# TYPE "):
            name, _, kind = line[7:].partition(" ")
            families.setdefault(name, {"samples": {}})["type"] = kind
        elif match := _SAMPLE.match(line):
            _add(families, *match.groups())
    return {name: family for name, family in families.items() if not name.startswith(MEANINGLESS)}


def _add(families, name, labels, value):
    base, part = name, ""
    for suffix in ("_bucket", "_count", "_sum"):
        if name.endswith(suffix) and name[: -len(suffix)] in families:
            base, part = name[: -len(suffix)], suffix
    family = families.setdefault(base, {"samples": {}})
    pairs = sorted(_LABEL.findall(labels or ""))
    if part == "_bucket":
        bounds = family.setdefault("buckets", [])
        bound = dict(pairs)["le"]
        if bound not in bounds:
            bounds.append(bound)
        return
    key = ",".join(f"{k}={v}" for k, v in pairs) + part
    counted = base.startswith(_COUNTED) and part != "_sum"
    family["samples"][key] = float(value) if counted else "present"
