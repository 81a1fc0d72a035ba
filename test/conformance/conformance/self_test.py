# SPDX-License-Identifier: Apache-2.0
"""Proof that a difference is seen: a recording of upstream is altered, one alteration a time, and compared with itself. Each alteration must show
as a difference of its channel, also after the races of its scenario were taken out, and the recording as it is must show none."""

import copy
import json
import os
import tempfile

from . import channels as channel_names
from . import compare, races
from .allowed import Allowed


def _lane(channels, channel, part):
    return next(lane for name, lane in channels[channel].items() if part in name)


def _dropped_write(c):
    _lane(c, "api", "/persistentvolumes/").pop(0)


def _reordered_writes(c):
    lane = _lane(c, "api", "/volumeattachments/")
    lane[0], lane[1] = lane[1], lane[0]


def _patch_type(c):
    _lane(c, "api", "/volumeattachments/")[0]["content_type"] = "application/strategic-merge-patch+json"


def _body_field(c):
    _lane(c, "api", "/volumeattachments/")[0]["body"]["metadata"]["annotations"]["csi.alpha.kubernetes.io/node-id"] = "node"


def _response_code(c):
    _lane(c, "api", "/volumeattachments/")[0]["status"] = 409


def _user_agent(c):
    _lane(c, "api", "/persistentvolumes/")[0]["user_agent"] = "attacher"


def _failed_again(c):
    lane = _lane(c, "api", "/volumeattachments/")
    lane.insert(1, dict(lane[0], status=409))


def _watch_query(c):
    _lane(c, "watch", "/persistentvolumes")[0]["query"] = "watch=true"


def _dropped_call(c):
    _lane(c, "csi", "publish").pop()


def _failed_call_again(c):
    lane = _lane(c, "csi", "publish")
    lane.insert(0, dict(lane[0], answer="Internal"))


def _request_field(c):
    _lane(c, "csi", "publish")[0]["request"]["node_id"] = "node"


def _deadline(c):
    _lane(c, "csi", "publish")[0]["deadline"] = "none"


def _metadata(c):
    _lane(c, "csi", "publish")[0]["metadata"].append(["x-extra", "1"])


def _call_before_write(c):
    lane = c["order"]["all"]
    call = next(i for i, item in enumerate(lane) if item["what"].startswith("ControllerPublishVolume"))
    lane[call - 1], lane[call] = lane[call], lane[call - 1]


def _event_reason(c):
    next(iter(c["events"].values()))[0]["reason"] = "Other"


def _event_lost(c):
    c["events"].pop(next(iter(c["events"])))


def _object_field(c):
    _lane(c, "objects", "pv/")[0]["metadata"]["finalizers"] = ["kubernetes.io/pv-protection"]


def _field_owner(c):
    _lane(c, "objects", "pv/")[0]["metadata"]["managedFields"][0]["manager"] = "attacher"


def _metric_label(c):
    samples = c["metrics"]["csi_sidecar_operations_seconds"][0]["samples"]
    key = next(iter(samples))
    samples[key.replace("driver_name", "driver")] = samples.pop(key)


def _metric_bucket(c):
    c["metrics"]["csi_sidecar_operations_seconds"][0]["buckets"].pop()


def _metric_type(c):
    c["metrics"]["csi_sidecar_operations_seconds"][0]["type"] = "summary"


def _log_form(c):
    c["log"]["forms"][0]["form"] = "no record"


def _exit_code(c):
    c["exit"]["end"][0]["end"] = "exit 1"


def _http_status(c):
    next(iter(c["http"].values()))[0]["status"] = 500


def _http_header(c):
    next(iter(c["http"].values()))[0]["headers"]["Content-Type"] = "text/html"


def _step_failed(c):
    c["steps"]["steps"][0]["failure"] = "step 1: not so"


_ALTERATIONS = {
    "api": (_dropped_write, _reordered_writes, _patch_type, _body_field, _response_code, _user_agent, _failed_again),
    "watch": (_watch_query,),
    "csi": (_dropped_call, _failed_call_again, _request_field, _deadline, _metadata),
    "order": (_call_before_write,),
    "events": (_event_reason, _event_lost),
    "objects": (_object_field, _field_owner),
    "metrics": (_metric_label, _metric_bucket, _metric_type),
    "log": (_log_form,),
    "exit": (_exit_code,),
    "http": (_http_status, _http_header),
    "steps": (_step_failed,),
}


_ENTRY = '- {scenarios: [one], channel: api, field: "x [0] status", ours: %s, reason: %s}\n'


def _allowed_list():
    """What is wrong with how the list of allowed differences works."""
    difference = compare.Difference("api", "x [0] status", "200", "201")
    wrong = []
    with tempfile.NamedTemporaryFile("w+", suffix=".yaml") as file:

        def load(text):
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            return Allowed(file.name, {"one", "two"})

        good = load(_ENTRY % ("equal", "because"))
        if good.unused({"one"}) != [("one", "api", "x [0] status")] or good.unused({"two"}):
            wrong.append("an entry that is not used is not told")
        if good.explains("two", difference) or good.explains("one", compare.Difference("api", "x [1] status", "", "")):
            wrong.append("an entry explains too much")
        if not good.explains("one", difference) or good.unused({"one"}):
            wrong.append("an entry explains nothing")
        for text, what in ((_ENTRY % ("worse", "because"), "worse"), (_ENTRY % ("equal", "''"), "no reason"),
                           ((_ENTRY % ("equal", "because")) * 2, "twice"),
                           ((_ENTRY % ("equal", "because")).replace("[one]", "['*']"), "a pattern")):
            try:
                load(text)
                wrong.append(f"an entry is accepted: {what}")
            except ValueError:
                pass
    print("allowed  " + ("as it should be" if not wrong else "; ".join(wrong)))
    return wrong


def run(folder):
    with open(os.path.join(folder, "recording.json"), encoding="utf-8") as stream:
        saved = json.load(stream)
    missed = [c for c in channel_names.CHANNELS if c not in _ALTERATIONS or c not in saved["channels"]]

    def differences(alter):
        sides = [copy.deepcopy(saved["channels"]) for _ in range(2)]
        alter(sides[1])
        for side in sides:
            races.apply(side, saved["races"])
        return compare.recordings(*sides)

    if same := differences(lambda c: None):
        missed.append(f"the recording differs from itself: {same}")
    count = 0
    for channel, alterations in _ALTERATIONS.items():
        for alter in alterations:
            found = differences(alter)
            seen = any(d.channel == channel for d in found)
            count += 1
            print(f"{channel:8} {alter.__name__[1:]:20} {'seen: ' + found[0].field if seen else 'NOT SEEN'}")
            if not seen:
                missed.append(alter.__name__)
    missed += _allowed_list()
    print(f"{count} alterations, {len(missed)} not seen")
    return 1 if missed else 0
