# SPDX-License-Identifier: Apache-2.0
"""The steps of a scenario, one function for each word. A step that takes too long is part of the recording, not an accident:
one side may fail where the other does not."""

import copy
import re
import signal
import time

from . import kinds
from .api_client import ApiError


class StepFailed(Exception):
    pass


def run(step, side):
    """A side may have words and conditions of its own (`words`, `holds`)."""
    (word, value), = step.items()
    function = side.words.get(word) or _WORDS.get(word)
    if function is None:
        raise ValueError(f"no step is called {word!r}")
    try:
        function(value, side)
    except ApiError as error:
        raise StepFailed(f"the API server answered {error}") from error


def _create(body, side):
    side.created(side.api.create(body))


def _patch(value, side):
    """{object, body, subresource}"""
    side.api.patch(value["object"], value["body"], value.get("subresource"))


def _delete(reference, side):
    side.api.delete(reference)


def _remove(reference, side):
    """Whatever finalizers it has."""
    kind, _, _ = kinds.split(reference)
    body = side.api.get(reference)
    if body:
        side.api.remove(kind, body)


def _driver(settings, side):
    side.driver.change(settings)


def _restart_driver(number, side):
    side.driver.stop(signal.Signals["SIG" + number])
    side.driver.start()


def _stop_driver(number, side):
    side.driver.stop(signal.Signals["SIG" + number])


def _start_driver(_, side):
    side.driver.start()


def _api_faults(faults, side):
    side.proxy.set_faults(faults)


def _kill(number, side):
    """Sends the sidecar a signal and waits for its end."""
    side.sidecar.signal(signal.Signals["SIG" + number])
    if not side.sidecar.wait(10):
        raise StepFailed(f"the sidecar did not end after SIG{number}")


def _signal(number, side):
    side.sidecar.signal(signal.Signals["SIG" + number])


def _start(arguments, side):
    side.start_sidecar(arguments or [])


def _wait_exit(seconds, side):
    if not side.sidecar.wait(seconds):
        raise StepFailed("the sidecar has not ended")


def _settle(seconds, side):
    side.settle(seconds)


def _sleep(seconds, _):
    time.sleep(seconds)


def _http(value, side):
    side.request_http(value)


def _wait(value, side):
    """{CONDITION..., within: seconds, not_before: seconds}: both counted from the beginning of the step."""
    value = dict(value)
    within, not_before = value.pop("within", 12), value.pop("not_before", 0)
    begun = time.monotonic()
    while not holds(value, side):
        if time.monotonic() - begun > within:
            raise StepFailed(f"not so within {within} s: {value}")
        time.sleep(0.02)
    if time.monotonic() - begun < not_before:
        raise StepFailed(f"already so before {not_before} s: {value}")


def holds(value, side):
    own = side.holds(value)
    if own is not None:
        return own
    if "object" in value:
        return _object_is(value, side)
    if "calls" in value:
        calls = [c for c in side.driver.calls() if c["method"].endswith("/" + value["calls"])]
        if "code" in value:
            calls = [c for c in calls if c["code"] == value["code"]]
        return len(calls) >= value.get("at_least", 1)
    if "requests" in value:
        method, path = value["requests"].split(" ", 1)
        pattern = re.compile(path + r"\Z")
        found = [r for r in side.proxy.records() if r["method"] == method and pattern.match(r["path"])
                 and ("status" not in value or r["status"] == value["status"])]
        return len(found) >= value.get("at_least", 1)
    if "events" in value:
        count = 0
        for event in side.api.list(kinds.KINDS["event"]):
            about = event["involvedObject"]
            if event["reason"] == value["events"] and value.get("about", about["name"]) == about["name"]:
                count += event.get("count", 1)
        return count >= value.get("at_least", 1)
    if "log" in value:
        return re.search(value["log"], side.sidecar_log()) is not None
    raise ValueError(f"no condition: {value}")


def _object_is(value, side):
    body = side.api.get(value["object"])
    if "exists" in value:
        return (body is not None) == value["exists"]
    if body is None:
        return False
    found = body
    for part in value["path"]:
        if isinstance(found, dict):
            found = found.get(part)
        elif isinstance(found, list) and isinstance(part, int) and part < len(found):
            found = found[part]
        else:
            found = None
    if "matches" in value:
        return isinstance(found, str) and re.search(value["matches"], found) is not None
    if "contains" in value:
        return found is not None and value["contains"] in found
    return found == value["is"]


def _bind(value, side):
    """{claim, volume}: what Kubernetes' volume controller does when it binds: both names, both phases."""
    claim = side.api.get(value)
    volume = f"pvc-{claim['metadata']['uid']}"
    side.api.patch(value, {"spec": {"volumeName": volume}})
    side.api.patch(value, {"status": {"phase": "Bound"}}, "status")
    side.api.patch(f"pv/{volume}", {"status": {"phase": "Bound"}}, "status")


def _release(value, side):
    """The claim is gone, its volume is released."""
    claim = side.api.get(value)
    volume = f"pvc-{claim['metadata']['uid']}"
    _remove(value, side)
    side.api.patch(f"pv/{volume}", {"status": {"phase": "Released"}}, "status")


def _unprotect(reference, side):
    """Takes away the finalizer that admission puts on volumes and claims, as Kubernetes' protection controllers do."""
    reference = side.resolve(reference)
    while body := side.api.get(reference):
        meta = body["metadata"]
        finalizers = [f for f in meta.get("finalizers", []) if not f.startswith("kubernetes.io/")]
        try:
            side.api.patch(reference, {"metadata": {"finalizers": finalizers or None, "resourceVersion": meta["resourceVersion"]}})
            return
        except ApiError as error:
            if error.status == 404:
                return
            if error.status != 409:
                raise


def _adopt_snapshot(value, side):
    """{snapshot, content, mode, driver, annotations, without_handle}: a VolumeSnapshotContent that is bound to the snapshot, with the
    snapshot's own uid."""
    snapshot = side.api.get(value["snapshot"])
    body = copy.deepcopy(side.templates["content"])
    body["metadata"]["name"] = value["content"]
    body["spec"]["volumeSnapshotRef"].update(uid=snapshot["metadata"]["uid"], namespace=snapshot["metadata"]["namespace"])
    if "mode" in value:
        body["spec"]["sourceVolumeMode"] = value["mode"]
    if "driver" in value:
        body["spec"]["driver"] = value["driver"]
    if value.get("without_handle"):
        del body["status"]["snapshotHandle"]
    body["metadata"]["annotations"] = value.get("annotations", {})
    side.created(side.api.create(body))


_WORDS = {
    "create": _create, "patch": _patch, "delete": _delete, "remove": _remove, "driver": _driver, "restart_driver": _restart_driver,
    "stop_driver": _stop_driver, "start_driver": _start_driver, "api_faults": _api_faults, "kill": _kill, "signal": _signal, "start": _start,
    "wait_exit": _wait_exit, "settle": _settle, "sleep": _sleep, "http": _http, "wait": _wait, "bind": _bind, "release": _release,
    "unprotect": _unprotect, "adopt_snapshot": _adopt_snapshot,
}
