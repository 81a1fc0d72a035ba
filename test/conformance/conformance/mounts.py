# SPDX-License-Identifier: Apache-2.0
"""The same pods once on a node with the real kubelet and once on one where csi-volume-manager mounts, with a sample driver each on the same volumes.
On the second node the runner does the rest of kubelet's work: it is the pods' containers, and posts their statuses.

Compared are the Node calls of the driver, what is on disk and mounted at each `look`, what is written to Node, CSINode and claims, and the Events
about volumes. What cannot be equal is named by what it stands for: node, kubelet's folder, pods, volumes, handles and attachments. Not compared:

1. NodeGetCapabilities: asked again before each use by kubelet, once in an operation by ours (docs/compatibility.md)
2. NodeGetVolumeStats: by the clock, and ours has no statistics yet (docs/compatibility.md)
3. of mounts everything but path, file system and read-only; of the Node's status everything but volumesInUse
4. how often something fails that is tried again by the clock: in a row of equal calls or events one counts
5. in how many steps volumes come into volumesInUse and leave it: kubelet writes by the clock, ours at each change. Which ones were ever in it, and
   what is left, is compared
6. the folders that kubelet makes for each pod whatever its volumes are: the pod's own, `plugins`, and `volumes`
"""

import hashlib
import json
import re
import subprocess
import time

from . import steps
from .api_client import ApiError
from .node_cluster import KUBELET_ROOT, NODE, SECOND_NODE

CHANNELS = ("steps", "csi", "layout", "api", "events", "state")
DRIVER = "sample.csi-native.io"
_REASONS = ("FailedMount", "FailedMapVolume", "SuccessfulMountVolume", "FailedAttachVolume", "VolumeResizeFailed", "FileSystemResizeSuccessful",
            "FileSystemResizeFailed", "VolumePermissionChangeInProgress", "SELinuxMountConflict")
_IMAGE = "csi-native.local/busybox:1"
_TOPOLOGY = "topology.sample.csi-native.io/node"
_NOT_COMPARED = ("NodeGetCapabilities", "NodeGetVolumeStats", "NodeGetInfo")


class MountSide:
    """One scenario on one of the two nodes."""

    words = {}  # steps besides those that all sides have

    def __init__(self, cluster, scenario, kubelet):
        self.cluster, self.api, self.scenario, self.kubelet = cluster, cluster.api, scenario, kubelet
        self.node = NODE if kubelet else SECOND_NODE
        self.root = KUBELET_ROOT if kubelet else f"{cluster.dir}/second/kubelet"
        self.holder = "node" if kubelet else "second-node"
        self.driver_part = "driver" if kubelet else "second-driver"
        self._log = f"{cluster.dir}/logs/{self.driver_part}.calls"
        self.namespace = f"mounts-{'kubelet' if kubelet else 'manager'}"
        self.templates = scenario.templates
        self.failure = None
        self.pods, self._gone = {}, set()  # name: body
        self._names = {}  # text: what it stands for
        self._looks = {}

    def run(self):
        begun = time.time()
        self._prepare()
        try:
            for number, step in enumerate(self.scenario.steps, 1):
                try:
                    steps.run(step, self)
                except steps.StepFailed as error:
                    raise steps.StepFailed(f"step {number}: {error}") from error
            for name in [n for n in self.pods if n not in self._gone]:
                _delete_pod(name, self)
            if not self._wait(60, lambda: not self.volumes_in_use() and not self._attachments()):
                raise steps.StepFailed("volumes stay in use, or attached, without their pods")
            # kubelet takes away the folders of pods every two seconds.
            if not self._wait(20, lambda: not self.in_node("find", f"{self.root}/pods", "-mindepth", "1")):
                raise steps.StepFailed("folders of pods stay")
            _look("end", self)
        except steps.StepFailed as error:
            self.failure = str(error)
        made = self._channels()
        self._clean_up()
        return made, time.time() - begun

    # ---- before and after

    def _prepare(self):
        self._create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        if not self._wait(20, lambda: self._get(f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default")):
            raise RuntimeError("the namespace has no ServiceAccount")
        driver = {**self.scenario.csi_driver}
        self.api.request("PATCH", f"/apis/storage.k8s.io/v1/csidrivers/{DRIVER}", {"spec": {
            "podInfoOnMount": True, "fsGroupPolicy": "File", **driver}}, "application/merge-patch+json")
        if self.scenario.driver_flags:
            self.cluster.restart(self.driver_part, *self.scenario.driver_flags)
        # What kubelet leaves of drivers that do not stage.
        self.in_node("find", f"{self.root}/plugins/kubernetes.io", "-mindepth", "2", "-type", "d", "-empty", "-delete")
        with open(self._log, "rb") as stream:
            self._offset = stream.seek(0, 2)
        self.cluster.audit.begin()
        self._create({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": self.namespace}, "provisioner": DRIVER,
            "volumeBindingMode": "Immediate",
            "allowedTopologies": [{"matchLabelExpressions": [{"key": _TOPOLOGY, "values": [f"id-of-{self.node}"]}]}],
            **self.scenario.storage_class})
        for body in self.scenario.objects:
            self._create({**body, "metadata": {**body["metadata"], "namespace": self.namespace}})
        for name, claim in self.scenario.claims.items():
            self.create_claim(name, claim)
        self._await_claims()

    def create_claim(self, name, claim):
        self._create({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": self.namespace}, "spec": {
                "storageClassName": self.namespace, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Mi"}}, **claim}})

    def _await_claims(self):
        """The volumes that were made for claims, by their names."""
        def bound():
            claims = self._get(f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims")["items"]
            return claims if all(c.get("status", {}).get("phase") == "Bound" for c in claims) else None

        if not self._wait(60, lambda: bound() is not None):
            raise RuntimeError("the claims are not bound")
        for claim in bound():
            self._know_volume(claim)

    def _know_volume(self, claim):
        name, volume = claim["metadata"]["name"], claim["spec"]["volumeName"]
        handle = self._get(f"/api/v1/persistentvolumes/{volume}")["spec"]["csi"]["volumeHandle"]
        self._names[volume] = f"<volume {name}>"
        self._names[handle] = f"<handle {name}>"
        self._names[claim["metadata"]["uid"]] = f"<uid pvc/{name}>"
        self._names[hashlib.sha256(handle.encode()).hexdigest()] = f"<hash of {name}>"
        self._names["csi-" + hashlib.sha256(f"{handle}{DRIVER}{self.node}".encode()).hexdigest()] = f"<attachment of {name}>"

    def _clean_up(self):
        for kind in ("pods", "persistentvolumeclaims"):
            for item in self._get(f"/api/v1/namespaces/{self.namespace}/{kind}")["items"]:
                self._delete(f"/api/v1/namespaces/{self.namespace}/{kind}/{item['metadata']['name']}")
        self._wait(60, lambda: not self._get("/api/v1/persistentvolumes")["items"])
        self._delete(f"/apis/storage.k8s.io/v1/storageclasses/{self.namespace}")
        self._delete(f"/api/v1/namespaces/{self.namespace}")
        if not self._wait(60, lambda: self._get(f"/api/v1/namespaces/{self.namespace}") is None):
            raise RuntimeError("the namespace does not go away")
        if self.scenario.driver_flags or self.scenario.restarts_driver:
            self.cluster.restart(self.driver_part)

    # ---- the API, the node

    def _create(self, body):
        group, _, version = body["apiVersion"].rpartition("/")
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        namespace = body["metadata"].get("namespace")
        resource = "storageclasses" if body["kind"] == "StorageClass" else body["kind"].lower() + "s"
        return self.api.request("POST", f"{root}/namespaces/{namespace}/{resource}" if namespace else f"{root}/{resource}", body)

    def _get(self, path):
        try:
            return self.api.request("GET", path)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def _delete(self, path):
        try:
            self.api.request("DELETE", path, {"gracePeriodSeconds": 0})
        except ApiError as error:
            if error.status != 404:
                raise

    def _wait(self, seconds, holds_now):
        return self.cluster.wait(seconds, holds_now)

    def pod_path(self, name):
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}"

    def volumes_in_use(self):
        return self.cluster.node(self.node)["status"].get("volumesInUse") or []

    def _attachments(self):
        return [a for a in self._get("/apis/storage.k8s.io/v1/volumeattachments")["items"] if a["spec"]["nodeName"] == self.node]

    def in_node(self, *command):
        pid = self.cluster.namespace_pid(self.holder)
        return subprocess.run(["nsenter", "--target", pid, "--mount", "--wdns=/", "--", *command], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout

    def mounts(self):
        """Below kubelet's folder: (path, file system, rw or ro)."""
        with open(f"/proc/{self.cluster.namespace_pid(self.holder)}/mountinfo", encoding="utf-8") as stream:
            for line in stream:
                fields, _, source = line.partition(" - ")
                fields = fields.split()
                if fields[4].startswith(self.root + "/"):
                    yield fields[4], source.split()[0], fields[5].split(",")[0]

    def calls(self):
        with open(self._log, encoding="utf-8") as stream:
            stream.seek(self._offset)
            lines = [json.loads(line) for line in stream if line.endswith("\n")]
        return [c for c in lines if c["method"].startswith("/csi.v1.Node/") and c["method"].rsplit("/", 1)[-1] not in _NOT_COMPARED]

    def holds(self, value):
        if "running" in value:
            return self._running(value["running"])
        if "unmounted" in value:
            return not any(self.pods[value["unmounted"]]["metadata"]["uid"] in path for path, _, _ in self.mounts())
        if "calls" in value:
            found = [c for c in self.calls() if c["method"].endswith("/" + value["calls"]) and value.get("code", c["code"]) == c["code"]]
            return len(found) >= value.get("at_least", 1)
        if "event" in value:
            return any(e["reason"] == value["event"] for e in self._events())
        return None

    def _running(self, name):
        """The containers of the pod can start, and do."""
        body = self._get(self.pod_path(name))
        if body is None:
            return False
        if self.kubelet:
            return body["status"].get("phase") == "Running"
        container = body["spec"]["containers"][0]
        volumes = container.get("volumeMounts", []) + container.get("volumeDevices", [])
        uid = body["metadata"]["uid"]
        below = [path for path, _, _ in self.mounts() if f"/pods/{uid}/volumes/kubernetes.io~csi/" in path]
        links = self.in_node("find", f"{self.root}/pods/{uid}/volumeDevices", "-type", "l").split()
        if len(below) + len(links) < len(volumes):
            return False
        self._post_status(name, "Running", {"running": {"startedAt": _now()}})
        return True

    def _post_status(self, name, phase, state):
        self.api.request("PATCH", self.pod_path(name) + "/status", {"status": {"phase": phase, "containerStatuses": [{
            "name": "main", "image": "none", "imageID": "", "ready": False, "restartCount": 0, "state": state}]}}, "application/merge-patch+json")

    # ---- channels

    def _channels(self):
        calls = {}
        for call in self.calls():
            request = self._shown(call["request"])
            lane = calls.setdefault(request.get("volume_id", "none"), [])
            item = {"method": call["method"].rsplit("/", 1)[-1], "request": request, "answer": call["code"]}
            if item not in lane[-1:]:
                lane.append(item)
        return {"steps": {"steps": [{"failure": self.failure}]}, "csi": calls,
                "layout": {f"{k} {i['path']}": [i] for k, v in self._looks.items() for i in v["layout"]},
                "state": {k: [v["state"]] for k, v in self._looks.items()}, "api": self._api(), "events": self._event_lanes()}

    def _api(self):
        lanes = {"volumesInUse": [], "csinode": [], "claims": []}
        ever, last = set(), None
        for event in self.cluster.node_writes(self.node):
            about, body = event["objectRef"], event.get("requestObject") or {}
            code = event["responseStatus"]["code"]
            if about["resource"] == "nodes" and "volumesInUse" in (body.get("status") or {}):
                if code == 200:
                    last = self._shown(body["status"]["volumesInUse"])
                    ever.update(last or [])
                continue
            if about["resource"] == "csinodes":
                item = {"verb": event["verb"], "drivers": self._shown((body.get("spec") or {}).get("drivers")), "status": code}
                lane = lanes["csinode"]
            elif about["resource"] == "persistentvolumeclaims":
                item = {"claim": about["name"], "verb": event["verb"], "body": self._shown(body), "status": code}
                lane = lanes["claims"]
            else:
                continue
            lane.append(item)
        lanes["volumesInUse"] = [{"ever": sorted(ever), "last": last}]
        return lanes

    def _events(self):
        return [e for e in self._get(f"/api/v1/namespaces/{self.namespace}/events")["items"] if e["reason"] in _REASONS]

    def _event_lanes(self):
        lanes = {}
        for event in self._events():
            about = event["involvedObject"]
            item = {"reason": event["reason"], "type": event["type"], "message": self._shown(event["message"])}
            lane = lanes.setdefault(f"{about['kind']}/{about['name']}", [])
            if item not in lane:
                lane.append(item)
        for lane in lanes.values():
            lane.sort(key=lambda e: (e["reason"], e["message"]))
        return lanes

    def look(self, name):
        self._looks[name] = {"layout": self._layout(), "state": {
            "volumesInUse": sorted(self._shown(self.volumes_in_use())),
            "drivers": self._shown(self.cluster.csinode_drivers(self.node)),
        }}

    def _layout(self):
        """Each path of volumes below kubelet's folder with type, mode and owner; what is in files of metadata; what is mounted."""
        mounted = {path: f"{kind} {access}" for path, kind, access in self.mounts()}
        found = self.in_node(
            "find", f"{self.root}/pods", f"{self.root}/plugins/kubernetes.io", "(", "-path", "*/mount/*", "-o", "-path", "*/globalmount/*", "-o",
            "-path", "*/volumes/kubernetes.io~projected*", "-o", "-path", "*/containers", "-o", "-path", "*/plugins/kubernetes.io~projected*", "-o",
            "-path", "*/etc-hosts", "-o", "-path", "*/plugins/kubernetes.io~empty-dir*", ")", "-prune", "-o", "-printf", r"%p\t%M\t%U:%G\t%l\n")
        items = []
        for line in found.splitlines():
            path, mode, owner, link = line.split("\t")
            if re.fullmatch(rf"{re.escape(self.root)}/pods/[^/]+(/plugins|/volumes)?", path):
                continue
            item = {"path": path, "mode": mode, "owner": owner}
            if link:
                item["to"] = link
            if path in mounted:
                item["mounted"] = mounted[path]
            if path.endswith("/vol_data.json"):
                item["content"] = json.loads(self.in_node("cat", path))
            items.append(self._shown(item))
        return items

    def _shown(self, value):
        """By what things stand for."""
        text = json.dumps(value)
        names = {**self._names, **{b["metadata"]["uid"]: f"<pod {n}>" for n, b in self.pods.items()}}
        for name, body in self.pods.items():
            for volume in body["spec"].get("volumes", []):
                if "csi" in volume:
                    inline = "csi-" + hashlib.sha256((body["metadata"]["uid"] + volume["name"]).encode()).hexdigest()
                    names[inline] = f"<inline {volume['name']} of {name}>"
                    attachment = "csi-" + hashlib.sha256(f"{inline}{DRIVER}{self.node}".encode()).hexdigest()
                    names[attachment] = f"<attachment of {volume['name']} of {name}>"
        for known in sorted(names, key=len, reverse=True):
            text = text.replace(known, names[known])
        for known, name in ((self.root, "<kubelet>"), (f"id-of-{self.node}", "<node id>"), (self.node, "<node>"), (self.namespace, "<namespace>")):
            text = text.replace(known, name)
        text = re.sub(r"/dev/loop\d+", "/dev/loop<n>", text)
        text = re.sub(r"16\d{11}-\d+-|17\d{11}-\d+-", "<identity>-", text)
        return json.loads(text)


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


# ---- steps

def _look(name, side):
    side.look(name)


def _pod(value, side):
    """{name, volumes, spec, scheduled}: claims by their names, or whole volumes; one container that uses them all, block volumes as devices. Without
    `scheduled` the pod names its node from the beginning."""
    volumes, mounts, devices = [], [], []
    for name, volume in value["volumes"].items():
        source = {k: v for k, v in volume.items() if k not in ("block", "read_only", "mount", "unused")}
        if "claim" in source:
            source = {"persistentVolumeClaim": {"claimName": source["claim"], **({"readOnly": True} if volume.get("read_only") else {})}}
        if "ephemeral" in source:
            source = {"ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": side.namespace, **source["ephemeral"]}}}}
        volumes.append({"name": name, **source})
        if volume.get("unused"):
            continue
        if volume.get("block"):
            devices.append({"name": name, "devicePath": f"/dev/{name}"})
        else:
            mounts.append({"name": name, "mountPath": f"/{name}", **volume.get("mount", {})})
    container = {"name": "main", "image": _IMAGE, "imagePullPolicy": "Never", "command": ["sleep", "3600"], "volumeMounts": mounts,
                 "volumeDevices": devices}
    place = {"nodeSelector": {"kubernetes.io/hostname": side.node}} if value.get("scheduled") else {"nodeName": side.node}
    body = side._create({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": value["name"], "namespace": side.namespace},
        "spec": {**place, "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False,
                 "tolerations": [{"operator": "Exists"}], "containers": [container], "volumes": volumes, **value.get("spec", {})}})
    side.pods[value["name"]] = body


def _delete_pod(name, side):
    """Returns when its volumes are unmounted."""
    side.api.request("DELETE", side.pod_path(name), {"gracePeriodSeconds": 1})
    if not side.kubelet:
        # Its container has ended.
        side._post_status(name, "Succeeded", {"terminated": {"exitCode": 0, "finishedAt": _now()}})
    _gone(name, side)


def _gone(name, side):
    if not side._wait(60, lambda: side.holds({"unmounted": name})):
        raise steps.StepFailed(f"the volumes of {name} stay mounted")
    if not side.kubelet:
        side._delete(side.pod_path(name))
    if not side._wait(60, lambda: side._get(side.pod_path(name)) is None):
        raise steps.StepFailed(f"{name} does not go away")
    # kubelet takes away its folder up to two seconds later.
    if not side._wait(20, lambda: not side.in_node("find", f"{side.root}/pods/{side.pods[name]['metadata']['uid']}")):
        raise steps.StepFailed(f"the folder of {name} stays")
    side._gone.add(name)


def _restart_manager(_, side):
    """Who mounts: kubelet, or csi-volume-manager."""
    side.cluster.restart("kubelet" if side.kubelet else "csi-volume-manager")


def _restart_driver(flags, side):
    side.cluster.restart(side.driver_part, *(flags or []))


def _know_claims(_, side):
    """The claims that were made for generic ephemeral volumes."""
    side._await_claims()


MountSide.words = {
    "look": _look, "pod": _pod, "delete_pod": _delete_pod, "restart_manager": _restart_manager,
    "restart_driver": _restart_driver, "know_claims": _know_claims,
}
