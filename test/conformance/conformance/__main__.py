# SPDX-License-Identifier: Apache-2.0
"""scripts/conformance. See docs/conformance.md."""

import argparse
import copy
import glob
import json
import os
import socket
import sys
import tempfile
import time

from . import channels, compare, races, scenario as scenarios, self_test
from .allowed import Allowed
from .api_proxy import ApiProxy
from .cluster import Cluster
from .side import Side, Workplace

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_REPOSITORY = os.path.dirname(os.path.dirname(_HERE))


def main():
    options = _options()
    known = scenarios.load_all(_HERE)
    if options.list:
        for name, item in known.items():
            print(f"{name:50} {item.description}")
        return 0
    if options.self_test:
        return self_test.run(os.path.join(_HERE, "self-test"))
    chosen = [name for name in known if not options.names or name in options.names or name.split("/")[0] in options.names]
    unknown = [n for n in options.names if n not in known and n not in {k.split("/")[0] for k in known}]
    if unknown or not chosen:
        print(f"conformance: no scenario is called {', '.join(unknown) or 'anything'} (see --list)", file=sys.stderr)
        return 2
    return _run(options, {name: known[name] for name in chosen}, known)


def _options():
    parser = argparse.ArgumentParser(prog="scripts/conformance", description="Our sidecars beside upstream's, on a real API server.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios, or folders of them (default: all)")
    parser.add_argument("--sides", default="upstream,ours", help="upstream,ours (default) or upstream,upstream, ours,ours")
    parser.add_argument("--times", type=int, default=1, help="how often each scenario runs")
    parser.add_argument("--list", action="store_true", help="the scenarios there are")
    parser.add_argument("--self-test", action="store_true", help="altered recordings must be found to differ")
    parser.add_argument("--instance", metavar="DIR", help="of `scripts/e2e up --api-only --dir DIR`; default: one of its own")
    parser.add_argument("--suggest", action="store_true", help="what would have to be in allowed.yaml for each unexplained difference")
    parser.add_argument("--record", metavar="FILE", help="keep upstream's recording there, for --self-test")
    parser.add_argument("--save", metavar="DIR", help="keep the recordings there, and all differences")
    options = parser.parse_args()
    if options.sides not in ("upstream,ours", "upstream,upstream", "ours,ours"):
        parser.error(f"unknown sides: {options.sides}")
    return options


def _program(side, sidecar):
    if side == "ours":
        return os.path.join(os.environ.get("E2E_BUILD") or f"{_REPOSITORY}/build/release", "bin", sidecar)
    cache = os.environ.get("CSI_NATIVE_CACHE") or os.path.expanduser("~/.cache/csi-native")
    # scripts/conformance has built it, and says where.
    return os.path.join(os.environ.get("CONFORMANCE_UPSTREAM") or max(glob.glob(f"{cache}/cluster/upstream-*/")), sidecar)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _run(options, chosen, known):
    allowed = Allowed(os.path.join(_HERE, "allowed.yaml"), known)
    sides = options.sides.split(",")
    rows, failed = [], False
    cluster = Cluster(_REPOSITORY, options.instance)
    try:
        with tempfile.TemporaryDirectory(prefix="cf-") as folder:
            proxy_port, http_port = _free_port(), _free_port()
            driver = os.path.join(os.environ.get("E2E_BUILD") or f"{_REPOSITORY}/build/release", "bin/scripted-driver")
            workplace = Workplace(cluster, ApiProxy(proxy_port, cluster.port, cluster.pki), f"{folder}/run", proxy_port, http_port, driver)
            print(f"{'scenario':44} {'upstream':>9} {'ours':>9}  differences", flush=True)
            for name, item in chosen.items():
                for _ in range(options.times):
                    row = _compare(workplace, item, sides, allowed, options)
                    rows.append(row)
                    failed |= _print(row)
    finally:
        cluster.down()
    if options.suggest:
        _suggest(rows)
    compared = sides == ["upstream", "ours"]
    unused = allowed.unused(chosen) if compared else []
    for scenario, channel, field in unused:
        print(f"allowed, but there is no such difference: {scenario}: {channel}: {field}")
    used = sum(row["allowed"] for row in rows)
    print(f"{len(rows)} runs of {len(chosen)} scenarios, {sum(1 for r in rows if r['unexplained'])} with unexplained differences; "
          f"{used} allowed differences met, {len(allowed)} allowed in all")
    return 1 if failed or unused else 0


def _suggest(rows):
    scenarios_of = {}
    for row in rows:
        for difference in row["unexplained"]:
            scenarios_of.setdefault((difference.channel, difference.field), []).append(row["name"])
    for (channel, field), names in scenarios_of.items():
        print(f"- channel: {channel}\n  field: {json.dumps(field)}\n  scenarios: [{', '.join(names)}]\n  ours: \n  reason: ")


def _compare(workplace, item, sides, allowed, options):
    row = {"name": item.name, "seconds": [], "unexplained": [], "allowed": 0, "states": []}
    recorded = []
    for number, side in enumerate(sides):
        raw = Side(workplace, item, _program(side, item.sidecar)).run()
        made = channels.make(raw, item)
        if options.record and side == "upstream":
            _save_self_test(options.record, made, item)
        races.apply(made, item.races)
        recorded.append(made)
        row["seconds"].append(raw["seconds"])
        row["states"].append("failed" if raw["failure"] else f"{raw['seconds']:.1f} s")
        if options.save:
            _save(options.save, item.name, f"{number}-{side}", {"channels": made, "raw": {k: raw[k] for k in ("lives", "failure", "calls", "requests")}})
    differences = compare.recordings(copy.deepcopy(recorded[0]), recorded[1])
    for difference in differences:
        if sides == ["upstream", "ours"] and allowed.explains(item.name, difference):
            row["allowed"] += 1
        else:
            row["unexplained"].append(difference)
    # What fails on both sides proves nothing.
    if all(r["steps"]["steps"][0]["failure"] for r in recorded):
        row["unexplained"].append(compare.Difference("steps", "steps [0] failure", *[r["steps"]["steps"][0]["failure"] for r in recorded]))
    return row


def _save(folder, name, side, content):
    file = os.path.join(folder, name.replace("/", "-") + f".{side}.json")
    os.makedirs(folder, exist_ok=True)
    with open(file, "w", encoding="utf-8") as stream:
        json.dump(content, stream, indent=1, sort_keys=True)


def _save_self_test(file, made, item):
    with open(file, "w", encoding="utf-8") as stream:
        json.dump({"scenario": item.name, "races": item.races, "channels": made}, stream, indent=1, sort_keys=True)
        stream.write("\n")


def _print(row):
    count = len(row["unexplained"])
    text = "none" if not count and not row["allowed"] else ", ".join(
        [f"{count} unexplained"] * bool(count) + [f"{row['allowed']} allowed"] * bool(row["allowed"]))
    print(f"{row['name']:44} {row['states'][0]:>9} {row['states'][1]:>9}  {text}", flush=True)
    for difference in row["unexplained"]:
        print(f"    {difference.channel}: {difference.field}\n        upstream: {difference.upstream}\n        ours:     {difference.ours}", flush=True)
    return bool(count)


if __name__ == "__main__":
    started = time.time()
    code = main()
    sys.exit(code)
