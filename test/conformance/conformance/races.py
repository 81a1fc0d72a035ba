# SPDX-License-Identifier: Apache-2.0
"""What upstream does sometimes and sometimes not, as named rules. A scenario names those that it can meet; each drops from the channels, on
both sides, only the repetition that its text describes, so a missing or a different call still shows."""

import copy
import re


def _drop_repeats(lane, is_candidate, same):
    kept = []
    for item in lane:
        if kept and is_candidate(item) and same(kept[-1], item):
            continue
        kept.append(item)
    lane[:] = kept


def _equal(a, b):
    return a == b


def _repeated_attach(channels):
    """A first attach is processed twice when the status has not reached the cache by the time the finalizer's update is handled (attacher
    7.2): the Secret is read again, the same successful ControllerPublishVolume comes again, and the same patch of the status, or an empty
    one."""
    for lane in channels["csi"].values():
        _drop_repeats(lane, lambda i: i["method"].endswith("/ControllerPublishVolume") and i["answer"] == "OK", _equal)
    for name, lane in channels["api"].items():
        if "/volumeattachments/" in name:
            _drop_repeats(lane, lambda i: i["path"].endswith("/status"), lambda a, b: a == b or (
                {**a, "body": 0} == {**b, "body": 0} and b["body"] in ({}, {"status": {}})))
        if "/secrets/" in name:
            _drop_repeats(lane, lambda i: i["method"] == "GET", _equal)
    for lane in channels["order"].values():
        lane[:] = _without_second_attach(lane)


def _without_second_attach(lane):
    kept, attached = [], False
    for item in lane:
        what = item["what"]
        if what == "ControllerPublishVolume OK":
            if attached:
                if kept[-1]["what"].startswith("GET ") and "/secrets/" in kept[-1]["what"]:
                    kept.pop()
                continue
            attached = True
        status = what.startswith("PATCH /apis/storage.k8s.io/v1/volumeattachments/") and what.endswith("/status")
        # Its patch follows what is kept of the first one.
        if status and attached and kept and kept[-1]["what"] == what:
            continue
        kept.append(item)
    return kept


def _repeated_detach(channels):
    """A deletion is processed again when its update arrives late (attacher 7.3): the status patch of what is gone answered 404 or 200."""
    for name, lane in channels["api"].items():
        if "/volumeattachments/" in name:
            lane[:] = [{**i, "status": 200} if i["path"].endswith("/status") and i["status"] == 404 else i for i in lane]


def _repeated_deletion(channels):
    """A volume's deletion is processed twice when the removal of the finalizer has not reached the cache in time (provisioner 13.4): the same
    DeleteVolume, DELETE (200 or 404) and PATCH again, and before them the Secret. That the Secret was read for the deletion shows in the call."""
    for lane in channels["csi"].values():
        _drop_repeats(lane, lambda i: i["method"].endswith("/DeleteVolume") and i["answer"] == "OK", _equal)
    for name, lane in channels["api"].items():
        if "/secrets/" in name:
            _drop_repeats(lane, lambda i: i["method"] == "GET", _equal)
        if "/persistentvolumes/" in name:
            seen, kept = set(), []
            for item in lane:
                if item["method"] in ("DELETE", "PATCH") and (item["method"], str(item["body"])) in seen:
                    continue
                seen.add((item["method"], str(item["body"])))
                kept.append(item)
            lane[:] = kept
    # The second DELETE of what is gone is a failed attempt.
    channels["metrics"].pop("controller_persistentvolume_delete_failed_total", None)
    for lane in channels["log"].values():
        lane[:] = [i for i in lane if i.get("form") != "klog E"]
    _once_in_order(channels, ("DeleteVolume OK", "DELETE /api/v1/persistentvolumes/", "PATCH /api/v1/persistentvolumes/",
                               "GET /api/v1/namespaces/conformance/secrets/"))


def _repeated_provisioning(channels):
    """A claim that changes between the making of its volume and the arrival of the volume in the cache is provisioned again (provisioner 4.2):
    the same CreateVolume and a POST answered 409."""
    for lane in channels["csi"].values():
        _drop_repeats(lane, lambda i: i["method"].endswith("/CreateVolume") and i["answer"] == "OK", _equal)
    for name, lane in channels["api"].items():
        if "/persistentvolumes/" in name:
            lane[:] = [i for i in lane if not (i["method"] == "POST" and i["status"] == 409)]


def _once_in_order(channels, tokens):
    for lane in channels["order"].values():
        seen, kept = set(), []
        for item in lane:
            if item["what"].startswith(tokens):
                if item["what"] in seen:
                    continue
                seen.add(item["what"])
            kept.append(item)
        lane[:] = kept


def _error_from_old_copy(channels):
    """An attachment's error is written as a difference to the cached object, which may or may not have the error before it yet (attacher
    10.1): members that repeat, and all of them within the same second, are there or not. Instead of the patch, the error that the object
    has after it is compared; one that changes nothing does not count. How often it was tried shows in the calls."""
    for name, lane in channels["api"].items():
        if "/volumeattachments/" not in name:
            continue
        errors, kept = {}, []
        for item in lane:
            kept.append(item)
            if not item["path"].endswith("/status") or not isinstance(item["body"], dict):
                continue
            status = item["body"].get("status") or {}
            before = copy.deepcopy(errors)
            for key in ("attachError", "detachError"):
                if key in status:
                    errors[key] = _patched(errors.get(key), status.pop(key))
            if item["status"] != 200:
                item["body"], errors = {"tried": errors, "status": status}, before
            else:
                item["body"] = {"errors": copy.deepcopy(errors), "status": status}
            # Nothing new to say, and perhaps not even another time.
            if kept[-2:-1] == [item] or (item["status"] == 200 and before == errors and not status):
                kept.pop()
        lane[:] = kept


def _patched(target, patch):
    if not isinstance(patch, dict):
        return patch
    return {k: v for k, v in {**(target or {}), **patch}.items() if v is not None}


def _retries(channels):
    """How often something fails before the scenario's next step depends on the moment: in a row of equal items one counts. With
    error-from-old-copy before it, errors of an attachment are such a row."""
    for channel in ("csi", "api"):
        for lane in channels[channel].values():
            kept = []
            for item in lane:
                # Two in a row, or a pair of requests in turn.
                if item in kept[-1:] or (item in kept[-2:] and len(kept) >= 2):
                    continue
                kept.append(item)
            lane[:] = kept
    for lane in channels["order"].values():
        kept = []
        for item in lane:
            if item not in kept[-4:]:
                kept.append(item)
        lane[:] = kept


def _driver_lost(channels):
    """Upstream notices a lost driver at the next call; noticing it earlier is as good (attacher 3): what is done between is not compared."""
    for channel in ("api", "order", "objects"):
        channels[channel].clear()
    channels["exit"].pop("stderr", None)


def _short_names(channels):
    """A part of a claim's uid is no uid that could be recognised: names with --volume-name-uuid-length are reduced to their length."""
    def shorten(value):
        if isinstance(value, str):
            return re.sub(r"\bvol-([0-9a-f]+)\b", lambda m: f"vol-<{len(m[1])} digits>", value)
        if isinstance(value, list):
            return [shorten(v) for v in value]
        if isinstance(value, dict):
            return {shorten(k): shorten(v) for k, v in value.items()}
        return value

    for channel in channels:
        channels[channel] = shorten(channels[channel])


def _event_counts(channels):
    """Event correlation drops and joins events by the moment they come."""
    channels["events"].pop("writes", None)


def _clone_protection(channels):
    """The source of a clone is deleted while the clone is pending: how often its finalizer's removal is tried in vain."""
    for lane in channels["log"].values():
        lane[:] = [i for i in lane if i.get("form") not in ("klog E", "klog I")]


def _controllers(channels):
    """Kubernetes' controllers write to the same objects at their own pace: what they leave in the objects and events is theirs, and the
    finalizers that a patch names are those that were there at its moment."""
    channels["objects"].clear()
    for lane in [name for name in channels["events"] if any(e.get("source", {}).get("component") == "persistentvolume-controller"
                                                             for e in channels["events"][name])]:
        channels["events"][lane] = [e for e in channels["events"][lane] if e["source"]["component"] != "persistentvolume-controller"]
    for lane in channels["api"].values():
        for item in lane:
            if item["method"] == "PATCH" and "finalizers" in str(item["body"]):
                item["body"] = "<finalizers>"


def _listens_in_the_background(channels):
    """Upstream finds out that its HTTP address is no good while it goes on: how far it comes is left to chance."""
    channels["api"].clear()
    channels["order"].clear()
    channels["csi"].clear()
    channels["watch"].clear()


def _map_order(channels):
    """Upstream goes through a topology's segments in the order of a Go map, which is another one each time."""
    def sort(value):
        if isinstance(value, list):
            for item in value:
                sort(item)
        if isinstance(value, dict):
            for key, item in list(value.items()):
                if key == "matchExpressions":
                    item.sort(key=lambda e: e["key"])
                sort(item)

    for channel in ("api", "objects"):
        sort(channels[channel])


def _metric_counts(channels):
    """Follows from the repetitions above: how often a call was counted."""
    for name, lane in channels["metrics"].items():
        if name.startswith(("csi_sidecar_operations_seconds", "controller_")):
            for family in lane:
                family["samples"] = {k: "present" for k in family["samples"]}


RULES = {
    "repeated-attach": _repeated_attach, "repeated-detach": _repeated_detach, "repeated-deletion": _repeated_deletion,
    "repeated-provisioning": _repeated_provisioning, "driver-lost": _driver_lost, "error-from-old-copy": _error_from_old_copy, "metric-counts": _metric_counts, "short-names": _short_names, "event-counts": _event_counts, "controllers": _controllers, "map-order": _map_order,
    "listens-in-the-background": _listens_in_the_background,
    "clone-protection": _clone_protection,
    "retries": _retries,
}


def apply(channels, names):
    unknown = set(names) - set(RULES)
    if unknown:
        raise ValueError(f"no race is called {sorted(unknown)}")
    # In the order of the table: some build on others.
    for name, rule in RULES.items():
        if name in names:
            rule(channels)
