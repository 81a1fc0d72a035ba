# SPDX-License-Identifier: Apache-2.0
"""From a raw recording to channels: {channel: {lane: [item, ...]}}. The order of items in a lane is compared, that of different lanes is
not, except in channel "order"."""

import base64
import json
import re

from . import kinds, metrics_text
from .driver import CODES
from .normalise import KLOG, Normaliser, content_type, deadline_class

CHANNELS = ("steps", "exit", "api", "watch", "csi", "order", "events", "objects", "metrics", "log", "http")


def make(raw, scenario):
    normal = Normaliser(raw)
    requests = [_request(r, raw, normal) for r in raw["requests"]]
    calls = [_call(c, normal) for c in raw["calls"]]
    return {
        "steps": {"steps": [{"failure": raw["failure"]}]},
        "exit": _exit(raw, scenario, normal),
        "api": _lanes(_collapse_leases(r for r in requests if r["lane"] and not r["watching"])),
        "watch": _watch(requests),
        "csi": _lanes(calls),
        "order": _order(requests, calls, scenario),
        "events": _events(raw, normal, requests),
        "objects": _objects(raw, normal),
        "metrics": _metrics(raw, normal),
        "log": _log(raw, scenario, normal),
        "http": _http(raw, scenario, normal),
    }


def _lanes(items):
    lanes = {}
    for item in items:
        lanes.setdefault(item["lane"], []).append({k: v for k, v in item.items() if k not in ("lane", "begin", "watching", "token")})
    return lanes


def _request(record, raw, normal):
    body = raw["audit"].get(record["audit_id"], {}).get("requestObject")
    if body is None and record["body"]:
        data = base64.b64decode(record["body"])
        try:
            body = json.loads(data)
        except ValueError:
            body = "bytes that the API server did not see"
    path = record["path"]
    lane = path
    for subresource in ("/status", "/binding"):
        lane = lane.removesuffix(subresource)
    if record["method"] == "POST" and isinstance(body, dict):
        lane += "/" + body.get("metadata", {}).get("name", "")
    query = record["query"]
    listing = record["method"] == "GET" and any(path.endswith("/" + k.resource) for k in kinds.KINDS.values())
    event = re.search(r"/events(/|$)", path)
    item = {
        "lane": None if event else normal.text(lane), "begin": record["begin"], "watching": listing, "event": bool(event),
        "method": record["method"], "path": normal.text(path), "query": normal.query(query), "user_agent": record["user_agent"],
        "content_type": content_type(record["content_type"]), "body": normal.tree(body), "status": record["status"],
    }
    item["token"] = f"{item['method']} {item['path']}"
    return item


def _collapse_leases(requests):
    """How often a Lease is renewed depends on how long the run takes: equal requests in a row count once."""
    last = {}
    for item in requests:
        shown = {k: v for k, v in item.items() if k != "begin"}
        if "/leases" in item["path"]:
            if last.get(item["lane"]) == shown:
                continue
            last[item["lane"]] = shown
        yield {k: v for k, v in item.items() if k != "event"}


def _watch(requests):
    """How each resource is listed and watched: the different requests, in the order of their first time."""
    lanes = {}
    for item in requests:
        if not item["watching"]:
            continue
        shown = {k: item[k] for k in ("query", "user_agent", "status")}
        shown["query"] = "&".join(sorted(shown["query"].split("&")))
        lane = lanes.setdefault(item["path"], [])
        if shown not in lane:
            lane.append(shown)
    return lanes


_TARGETS = ("name", "volume_id", "snapshot_id", "source_volume_id")


def _call(call, normal):
    method = call["method"].rsplit("/", 1)[-1]
    request = call["request"] or {}
    target = next((request[t] for t in _TARGETS if request.get(t)), "")
    if method in ("ControllerPublishVolume", "ControllerUnpublishVolume"):
        lane = f"publish {target} {request.get('node_id', '')}"
    elif target:
        lane = f"{method} {target}"
    else:
        lane = method if method in ("ListVolumes", "GetCapacity") else "start"
    metadata = [[k, "grpc" if k == "user-agent" and v.startswith("grpc-") else v] for k, v in call["metadata"]]
    code = CODES[call["code"]] if call["code"] < len(CODES) else str(call["code"])
    return {
        "lane": normal.text(lane), "begin": call["begin"] / 1e6, "token": f"{method} {'cancelled' if call['cancelled'] else code}", "method": call["method"], "authority": call["authority"],
        "metadata": sorted(metadata), "deadline": deadline_class(call["deadline_ms"]), "request": normal.tree(call["request"]),
        "answer": "cancelled by the caller" if call["cancelled"] else code,
    }


def _order(requests, calls, scenario):
    if not scenario.order:
        return {}
    both = [r for r in requests if r["lane"] and not r["watching"] and "/leases" not in r["path"]] + calls
    return {"all": [{"what": item["token"]} for item in sorted(both, key=lambda i: i["begin"])]}


def _events(raw, normal, requests):
    lanes = {}
    for short, body in raw["objects"]:
        if short != "event":
            continue
        shown = normal.tree(body)
        about = shown["involvedObject"]
        for key in ("count", "firstTimestamp", "lastTimestamp"):
            shown.pop(key, None)
        shown["metadata"] = {k: v for k, v in shown["metadata"].items() if k not in ("uid", "creationTimestamp", "managedFields")}
        lanes.setdefault(f"{about['kind']}/{about['name']}", []).append(shown)
    for lane in lanes.values():
        lane.sort(key=lambda e: (e["reason"], e["message"]))
    writes = {json.dumps({"method": r["method"], "content_type": r["content_type"], "user_agent": r["user_agent"],
                          "status": r["status"], "members": sorted(r["body"]) if r["method"] == "PATCH" and isinstance(r["body"], dict) else None},
                         sort_keys=True) for r in requests if r["event"]}
    if writes:
        lanes["writes"] = [json.loads(w) for w in sorted(writes)]
    return lanes


def _objects(raw, normal):
    lanes = {}
    for short, body in raw["objects"]:
        if short == "event":
            continue
        shown = normal.tree(body)
        shown["metadata"].pop("generation", None)
        # Who owns which field; the order of the entries is that of the writes' seconds.
        shown["metadata"]["managedFields"] = sorted(
            (f for f in shown["metadata"].get("managedFields", []) if f.get("manager") != "conformance"),
            key=lambda f: json.dumps(f, sort_keys=True))
        lanes[normal.text(f"{short}/{body['metadata']['name']}")] = [shown]
    return lanes


def _metrics(raw, normal):
    lanes = {}
    for answer in raw["http"]:
        if answer["request"].startswith("GET /metrics") and answer.get("status") == 200:
            for name, family in metrics_text.parse(answer["body"]).items():
                family = dict(family, help=_stability(family.get("help", "")), samples={normal.text(k): v for k, v in family["samples"].items()})
                lanes.setdefault(name, []).append(family)
    return lanes


def _stability(words):
    """Help is in words of our own; what counts is whether it begins with Kubernetes' mark of stability."""
    return words.split("]")[0] + "]" if words.startswith("[") else "words" if words else ""


def _log(raw, scenario, normal):
    """The forms of the lines of stderr; with `log: records` also each different message at its severity, up to its keys."""
    forms, records = set(), set()
    for life in raw["lives"]:
        for line in life["stderr"].splitlines():
            if match := KLOG.match(line):
                forms.add(f"klog {match[1]}")
                records.add(f"{match[1]} {_message(line[match.end():])}")
            elif line.startswith("{"):
                try:
                    record = json.loads(line)
                    forms.add("json " + ",".join(k for k in record if k in ("ts", "caller", "msg", "v", "logger", "err")))
                    records.add(f"json {record.get('msg')} {','.join(k for k in record if k not in ('ts', 'caller'))}")
                except ValueError:
                    forms.add("broken json")
            else:
                forms.add("no record")
    lanes = {}
    if scenario.exits is None and scenario.log != "none":
        lanes["forms"] = [{"form": f} for f in sorted(forms)]
    if scenario.log == "records":
        lanes["records"] = [{"record": normal.text(r)} for r in sorted(records)]
    return lanes


def _message(text):
    if match := re.match(r'"((?:[^"\\]|\\.)*)"(.*)', text):
        keys = re.findall(r' (\w+)=', match[2])
        return match[1] + (f" [{','.join(keys)}]" if keys else "")
    return text


def _exit(raw, scenario, normal):
    lanes = {"end": [{"life": n, "end": life["end"]} for n, life in enumerate(raw["lives"], 1)]}
    if scenario.exits is not None:
        for stream in ("stdout", "stderr"):
            lanes[stream] = [{"line": line} for line in normal.output_lines(raw["lives"][-1][stream])]
    return lanes


def _http(raw, scenario, normal):
    lanes = {}
    # The one for the metrics is made in every run, and has a channel of its own.
    for answer in raw["http"] if scenario.http else []:
        shown = {k: v for k, v in answer.items() if k not in ("request", "body")}
        if "headers" in shown:
            shown["headers"] = {k: ("<time>" if k in ("Date", "Process-Start-Time-Unix") else v) for k, v in shown["headers"].items()}
        body = answer.get("body", "")
        shown["body"] = "<metrics>" if body.startswith("# HELP ") else normal.text(body)
        if shown["body"] == "<metrics>" or answer["request"].startswith("HEAD "):
            # The text's length depends on its numbers, and so does the way in which it is sent.
            for header in ("Content-Length", "Transfer-Encoding"):
                shown.get("headers", {}).pop(header, None)
        lanes.setdefault(answer["request"], []).append(shown)
    return lanes
