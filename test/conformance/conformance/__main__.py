# SPDX-License-Identifier: Apache-2.0
"""scripts/conformance. See docs/conformance.md."""

import argparse
import copy
import json
import os
import sys
import tempfile

from . import compare, scenario as scenarios, self_test
from .allowed import Allowed
from .stages import STAGES

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
    stages = {known[name].stage for name in chosen}
    if options.instance and len(stages) > 1:
        print("conformance: --instance serves one kind of scenarios: csi-attacher's and csi-provisioner's, registrar/, or volume-manager/",
              file=sys.stderr)
        return 2
    if options.sides != "upstream,ours" and "registrar" in stages:
        print(f"conformance: registrar/ compares with what is expected: --sides {options.sides} has no meaning there; name other scenarios",
              file=sys.stderr)
        return 2
    return _run(options, {name: known[name] for name in chosen}, known)


def _options():
    parser = argparse.ArgumentParser(prog="scripts/conformance", description="Our programs beside the originals, on a real Kubernetes.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios, or folders of them (default: all)")
    parser.add_argument("--sides", default="upstream,ours", help="upstream,ours (default) or upstream,upstream, ours,ours; of volume-manager/ the "
                        "real kubelet is upstream")
    parser.add_argument("--times", type=int, default=1, help="how often each scenario runs")
    parser.add_argument("--list", action="store_true", help="the scenarios there are")
    parser.add_argument("--self-test", action="store_true", help="altered recordings must be found to differ")
    parser.add_argument("--instance", metavar="DIR", help="of `scripts/e2e up --dir DIR` with --api-only, --node (registrar/) or --two-nodes "
                        "(volume-manager/); default: one of its own")
    parser.add_argument("--suggest", action="store_true", help="what would have to be in allowed.yaml for each unexplained difference")
    parser.add_argument("--record", metavar="FILE", help="keep the recording of the original (registrar/: ours) there, for --self-test")
    parser.add_argument("--save", metavar="DIR", help="keep the recordings there, and all differences")
    options = parser.parse_args()
    if options.sides not in ("upstream,ours", "upstream,upstream", "ours,ours"):
        parser.error(f"unknown sides: {options.sides}")
    return options


def _run(options, chosen, known):
    allowed = Allowed(os.path.join(_HERE, "allowed.yaml"), known)
    rows, failed = [], False
    for kind, stage_class in STAGES.items():
        items = [item for item in chosen.values() if item.stage == kind]
        if not items:
            continue
        with tempfile.TemporaryDirectory(prefix="cf-") as folder:
            stage = stage_class(_REPOSITORY, folder, options)
            try:
                print(f"{'scenario':44} {stage.names[0]:>9} {stage.names[1]:>9}  differences", flush=True)
                for item in items:
                    for _ in range(options.times):
                        row = _compare(stage, item, allowed, options)
                        rows.append(row)
                        failed |= _print(row)
            finally:
                stage.down()
    if options.suggest:
        _suggest(rows)
    compared = options.sides == "upstream,ours"
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


def _compare(stage, item, allowed, options):
    row = {"name": item.name, "sides": stage.names, "unexplained": [], "allowed": 0, "states": []}
    recorded = []
    for number, recording in enumerate(stage.record(item)):
        side = stage.names[number] if options.sides == "upstream,ours" else options.sides.split(",")[number]
        if options.record and recording.for_self_test:
            _save_self_test(options.record, item.name, recording.for_self_test)
        recorded.append(recording)
        row["states"].append("failed" if recording.failure else f"{recording.seconds:.1f} s" if recording.seconds else "-")
        if options.save:
            _save(options.save, item.name, f"{number}-{side}", {"channels": recording.made, "raw": recording.raw})
    for difference in compare.recordings(copy.deepcopy(recorded[0].made), recorded[1].made):
        if options.sides == "upstream,ours" and allowed.explains(item.name, difference):
            row["allowed"] += 1
        else:
            row["unexplained"].append(difference)
    # What fails on both sides proves nothing.
    if all(r.failure for r in recorded):
        row["unexplained"].append(compare.Difference("steps", "steps [0] failure", *[r.failure for r in recorded]))
    return row


def _save(folder, name, side, content):
    file = os.path.join(folder, name.replace("/", "-") + f".{side}.json")
    os.makedirs(folder, exist_ok=True)
    with open(file, "w", encoding="utf-8") as stream:
        json.dump(content, stream, indent=1, sort_keys=True)


def _save_self_test(file, name, content):
    with open(file, "w", encoding="utf-8") as stream:
        json.dump({"scenario": name, **content}, stream, indent=1, sort_keys=True)
        stream.write("\n")


def _print(row):
    count = len(row["unexplained"])
    text = "none" if not count and not row["allowed"] else ", ".join(
        [f"{count} unexplained"] * bool(count) + [f"{row['allowed']} allowed"] * bool(row["allowed"]))
    print(f"{row['name']:44} {row['states'][0]:>9} {row['states'][1]:>9}  {text}", flush=True)
    for difference in row["unexplained"]:
        print(f"    {difference.channel}: {difference.field}\n        {row['sides'][0]}: {difference.upstream}\n        {row['sides'][1]}: "
              f"{difference.ours}", flush=True)
    return bool(count)


if __name__ == "__main__":
    sys.exit(main())
