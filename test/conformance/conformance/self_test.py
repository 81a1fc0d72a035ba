# SPDX-License-Identifier: Apache-2.0
"""Proof that a difference is seen: a recording of upstream is altered, one alteration a time, and compared with itself. Each alteration must show
as a difference of its channel, also after the races of its scenario were taken out, and the recording as it is must show none."""

import copy
import json
import os
import tempfile

from . import channels as channel_names
from . import compare, expectation, mounts, races, registrar
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


# ---- pods on a node


def _pod_lane(c, channel, part):
    return next(lane for name, lane in c[channel].items() if part in name)


def _pod_call_lost(c):
    _pod_lane(c, "csi", "<handle").pop()


def _pod_calls_reordered(c):
    lane = _pod_lane(c, "csi", "<handle")
    lane[0], lane[1] = lane[1], lane[0]


def _pod_request_field(c):
    _pod_lane(c, "csi", "<handle")[0]["request"]["staging_target_path"] += "/x"


def _pod_mode(c):
    _pod_lane(c, "layout", "/globalmount")[0]["mode"] = "drwxrwxrwx"


def _pod_metadata(c):
    _pod_lane(c, "layout", "vol_data.json")[0]["content"].pop("volumeHandle")


def _pod_folder_left(c):
    c["layout"]["end <kubelet>/pods/<pod one>/x"] = [{"path": "<kubelet>/pods/<pod one>/x"}]


def _pod_not_mounted(c):
    _pod_lane(c, "layout", "/mount")[0].pop("mounted")


def _pod_not_in_use(c):
    c["api"]["volumesInUse"][0]["ever"].clear()


def _pod_still_in_use(c):
    c["api"]["volumesInUse"][0]["last"] = ["x"]


def _pod_csinode(c):
    next(iter(c["state"].values()))[0]["drivers"] = []


def _pod_event(c):
    c["events"].setdefault("Pod/one", []).append({"reason": "FailedMount", "type": "Warning", "message": "x"})


def _pod_step(c):
    c["steps"]["steps"][0]["failure"] = "step 2: not so"


_POD_ALTERATIONS = {
    "csi": (_pod_call_lost, _pod_calls_reordered, _pod_request_field),
    "layout": (_pod_mode, _pod_metadata, _pod_folder_left, _pod_not_mounted),
    "api": (_pod_not_in_use, _pod_still_in_use), "state": (_pod_csinode,), "events": (_pod_event,), "steps": (_pod_step,),
}


# ---- what is expected of csi-node-driver-registrar


def _reg_exit(c):
    c["exit"]["end"][0]["end"] = "exit 1"


def _reg_deadline(c):
    c["csi"]["NodeGetInfo"][0]["deadline"] = "2 s"


def _reg_called_again(c):
    c["csi"]["GetPluginInfo"].append(dict(c["csi"]["GetPluginInfo"][0]))


def _reg_write_lost(c):
    c["api"]["csinode"].pop()


def _reg_annotation(c):
    c["api"]["node"][0]["annotation"] = "{}"


def _reg_order(c):
    lane = c["order"]["all"]
    lane[0], lane[1] = lane[1], lane[0]


def _reg_socket(c):
    c["objects"]["registered"][0]["socket"] = "srwxr-xr-x"


def _reg_look_lost(c):
    c["objects"].pop("after")


def _reg_health(c):
    c["http"]["GET /healthz"][0]["body"] = "well"


def _reg_error(c):
    c["log"]["errors"].append({"life": 1, "message": "x", "err": ""})


def _reg_step(c):
    c["steps"]["steps"][0]["failure"] = "step 1: not so"


_REGISTRAR_ALTERATIONS = {
    "exit": (_reg_exit,), "csi": (_reg_deadline, _reg_called_again), "api": (_reg_write_lost, _reg_annotation), "order": (_reg_order,),
    "objects": (_reg_socket, _reg_look_lost), "http": (_reg_health,), "log": (_reg_error,), "steps": (_reg_step,),
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


def _two_recordings(saved, alter):
    both = [copy.deepcopy(saved["channels"]) for _ in range(2)]
    alter(both[1])
    for channels in both:
        races.apply(channels, saved["races"])
    return compare.recordings(*both)


def _against_expectation(saved, alter):
    channels = copy.deepcopy(saved["channels"])
    alter(channels)
    return compare.recordings(*expectation.sides(saved["expect"], channels))


# file: how it is compared, the channels that there are, what is altered.
_RECORDINGS = {
    "recording.json": (_two_recordings, channel_names.CHANNELS, _ALTERATIONS),
    "pods.json": (_two_recordings, mounts.CHANNELS, _POD_ALTERATIONS),
    "registrar.json": (_against_expectation, registrar.CHANNELS, _REGISTRAR_ALTERATIONS),
}


def run(folder):
    missed, count = [], 0
    for file, (differences, channels, altered) in _RECORDINGS.items():
        with open(os.path.join(folder, file), encoding="utf-8") as stream:
            saved = json.load(stream)
        missed += [f"{file}: {c}" for c in channels if c not in altered or c not in saved["channels"]]
        if same := differences(saved, lambda c: None):
            missed.append(f"{file} differs from itself: {same}")
        for channel, alterations in altered.items():
            for alter in alterations:
                found = differences(saved, alter)
                seen = any(d.channel == channel for d in found)
                count += 1
                print(f"{channel:8} {alter.__name__[1:]:20} {'seen: ' + found[0].field if seen else 'NOT SEEN'}")
                if not seen:
                    missed.append(alter.__name__)
    missed += _allowed_list()
    print(f"{count} alterations, {len(missed)} not seen")
    return 1 if missed else 0
