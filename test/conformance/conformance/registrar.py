# SPDX-License-Identifier: Apache-2.0
"""csi-node-driver-registrar between a scripted driver and the real kubelet. There is no program of upstream's to run beside it, so the other
side is what the scenario's file expects (expectation.py) of kubelet, CSINode, Node, the driver's calls, the socket, /healthz, exit codes and the
log."""

import os
import re
import shutil
import signal
import stat
import subprocess
import time

from . import steps
from .driver import CODES, Driver
from .expectation import filled
from .node_cluster import ANNOTATION, KUBELET_ROOT
from .normalise import KLOG
from .side import Side, clean_environment
from .sidecar import Sidecar

CHANNELS = ("steps", "exit", "csi", "api", "order", "objects", "http", "log")
_LABELS = "conformance.csi-native.io/"
_TOLD = re.compile(r'"Received NotifyRegistrationStatus call" status="((?:[^"\\]|\\.)*)"')
_ERROR = re.compile(r'^E\S+ .*?\] "((?:[^"\\]|\\.)*)"(?: err="((?:[^"\\]|\\.)*)")?')


class RegistrarSide(Side):
    def __init__(self, workplace, scenario, program):
        super().__init__(workplace, scenario, program)
        self.name = scenario.driver_name
        plugin = f"{self.cluster.dir}/node/kubelet/plugins/{self.name}"
        self._plugin, self.registry = plugin, self.cluster.registry
        self.socket = f"{self.registry}/{self.name}-reg.sock"
        self.values = {"name": self.name, "port": workplace.http_port, "registry": self.registry, "socket": f"{plugin}/csi.sock",
                       "kubelet_socket": f"{KUBELET_ROOT}/plugins/{self.name}/csi.sock", "registration": self.socket,
                       "second": f"{self.registry}/second"}
        self.looks = {}
        self.second = None
        self._read_only = False

    def run(self):
        """The recording, as channels."""
        scenario = self.scenario
        self._clean()
        self.cluster.audit.begin()
        self.driver = Driver(self.workplace.driver_program, self.folder, self.values["socket"])
        self.sidecar = Sidecar(scenario.sidecar, self.program, self.folder, clean_environment())
        begun = time.time()
        try:
            self.driver.change(filled({"name": self.name, **scenario.driver}, self.values))
            if scenario.has_driver:
                self.driver.start()
            if scenario.start:
                self.start_sidecar([])
            self._play_all()
            self._end()
        finally:
            self._make_writable()
            for process in filter(None, (self.sidecar, self.second)):
                process.kill()
            self.driver.stop()
        return self._channels(), time.time() - begun

    def _clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        shutil.rmtree(self._plugin, ignore_errors=True)
        os.makedirs(self._plugin)
        _wipe(None, self)
        if not self.cluster.wait(20, lambda: not self.cluster.csinode_drivers()):
            raise RuntimeError(f"kubelet still has {self.cluster.csinode_drivers()}")
        labels = {k: None for k in self.cluster.node()["metadata"]["labels"] if k.startswith(_LABELS)}
        self.cluster.patch_node({"metadata": {"labels": {**labels, **self.scenario.node_labels}}})

    def _play_all(self):
        try:
            for number, step in enumerate(self.scenario.steps, 1):
                try:
                    steps.run(filled(step, self.values), self)
                except steps.StepFailed as error:
                    raise steps.StepFailed(f"step {number}: {error}") from error
        except steps.StepFailed as error:
            self.failure = str(error)

    def _end(self):
        """What is still there is told to end; the look "after" is when kubelet has seen the end of the socket."""
        if self.sidecar.running:
            self.sidecar.signal(signal.SIGTERM)
            if not self.sidecar.wait(8):
                self.failure = self.failure or "still running 8 s after SIGTERM"
            if not os.path.lexists(self.socket):
                # Both writes: CSINode comes first.
                self.cluster.wait(10, lambda: not self.registered() and self.name not in self._annotation())
        _look("after", self)

    def start_sidecar(self, more):
        arguments = [filled(a, self.values) for a in [*self.scenario.arguments, *more]]
        self.sidecar.start(arguments, self.scenario.environment)

    def registered(self):
        return any(d["name"] == self.name for d in self.cluster.csinode_drivers())

    def holds(self, value):
        if "registered" in value:
            return self.registered() == value["registered"]
        if "told" in value:
            return len(_TOLD.findall(self.sidecar_log())) >= value["told"]
        return None

    def settle(self, seconds):
        raise ValueError("kubelet is never quiet")

    def _annotation(self):
        return self.cluster.node()["metadata"].get("annotations", {}).get(ANNOTATION, "")

    def _make_writable(self):
        if self._read_only:
            subprocess.run(["umount", self.registry], check=True)
            self._read_only = False

    def _channels(self):
        calls = {}
        for call in self.driver.calls():
            method = call["method"].rsplit("/", 1)[-1]
            calls.setdefault(method, []).append({
                "authority": call["authority"], "deadline": f"{round(call['deadline_ms'] / 1000)} s", "request": call["request"],
                "answer": "cancelled by the caller" if call["cancelled"] else CODES[call["code"]]})
        writes, order = self._writes()
        http = {}
        for answer in self.http_answers:
            http.setdefault(answer["request"], []).append({k: answer[k] for k in ("status", "body", "error") if k in answer})
        log = {"told": [], "errors": []}
        for number, life in enumerate(self.sidecar.lives, 1):
            _read_log(life, number, log)
        ends = {"end": [{"life": n, "end": life["end"]} for n, life in enumerate(self.sidecar.lives, 1)]}
        if self.second:
            ends["second"] = [{"end": life["end"]} for life in self.second.lives]
            log["second"] = []
            for life in self.second.lives:
                _read_log(life, 1, {"told": [], "errors": log["second"]})
        last = self.sidecar.lives[-1] if self.sidecar.lives else None
        if last:
            with open(last["stdout"], encoding="utf-8") as stream:
                ends["stdout"] = [{"line": line} for line in stream.read().splitlines()]
        return {"steps": {"steps": [{"failure": self.failure}]}, "exit": ends, "csi": calls, "api": writes, "order": {"all": order},
                "objects": {name: [look] for name, look in self.looks.items()}, "http": http, "log": log}

    def _writes(self):
        """What kubelet wrote about drivers. Its own heartbeats are none of that."""
        lanes, order = {"node": [], "csinode": []}, []
        for event in self.cluster.node_writes("e2e-node"):
            about, body = event["objectRef"], event.get("requestObject") or {}
            shown = {"verb": event["verb"], "status": event["responseStatus"]["code"]}
            if about["resource"] == "csinodes":
                shown["drivers"] = (body.get("spec") or {}).get("drivers") or []
                lane = "csinode"
            else:
                metadata = body.get("metadata") or {}
                labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k.startswith(_LABELS)}
                annotations = metadata.get("annotations", {})
                if annotations is not None and ANNOTATION not in annotations and not labels:
                    continue
                shown["annotation"] = annotations[ANNOTATION] if annotations and ANNOTATION in annotations else None if annotations is None else "-"
                shown["labels"] = labels
                lane = "node"
            lanes[lane].append(shown)
            order.append({"what": f"{event['verb']} {lane}"})
        return lanes, order


def _read_log(life, number, log):
    with open(life["stderr"], encoding="utf-8", errors="replace") as stream:
        for line in stream:
            if told := _TOLD.search(line):
                log["told"].append({"life": number, "status": told[1]})
            elif KLOG.match(line) and (error := _ERROR.match(line)):
                log["errors"].append({"life": number, "message": error[1], "err": error[2] or ""})


# ---- steps

def _look(name, side):
    """Keeps what is to be seen now: CSINode, the Node's annotation and labels, the socket."""
    try:
        socket = stat.filemode(os.lstat(side.socket).st_mode)
    except FileNotFoundError:
        socket = "none"
    metadata = side.cluster.node()["metadata"]
    side.looks[name] = {
        "drivers": side.cluster.csinode_drivers(), "annotation": side._annotation(), "socket": socket,
        "labels": {k: v for k, v in metadata["labels"].items() if k.startswith(_LABELS)},
    }


def _stays(value, side):
    """{CONDITION..., seconds}: all that time."""
    value = dict(value)
    end = time.monotonic() + value.pop("seconds")
    while time.monotonic() < end:
        if not steps.holds(value, side):
            raise steps.StepFailed(f"not so any more: {value}")
        time.sleep(0.1)


def _runs(_, side):
    if not side.sidecar.running:
        raise steps.StepFailed("the sidecar has ended")


def _restart_kubelet(_, side):
    side.cluster.restart("kubelet")


def _wipe(_, side):
    """Everything in plugins_registry, as somebody who cleans up too much."""
    for name in os.listdir(side.registry):
        path = f"{side.registry}/{name}"
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def _place(kind, side):
    """What stands where the socket is, or should be: nothing, file, folder."""
    if os.path.isdir(side.socket):
        shutil.rmtree(side.socket)
    elif os.path.lexists(side.socket):
        os.unlink(side.socket)
    if kind == "file":
        with open(side.socket, "w", encoding="utf-8"):
            pass
    elif kind == "folder":
        os.makedirs(f"{side.socket}/content")
    elif kind != "nothing":
        raise ValueError(f"cannot place {kind!r}")


def _read_only(value, side):
    """In our view only: kubelet has its own mount."""
    if value:
        subprocess.run(["mount", "--bind", side.registry, side.registry], check=True)
        side._read_only = True
        subprocess.run(["mount", "-o", "remount,bind,ro", side.registry], check=True)
    else:
        side._make_writable()


def _second(value, side):
    """A second registrar of the same driver, with a folder of its own below plugins_registry; returns when it has ended."""
    os.makedirs(side.values["second"])
    side.second = Sidecar(side.scenario.sidecar, side.program, f"{side.folder}/second", clean_environment())
    side.second.start(value["arguments"])
    if not side.second.wait(value.get("within", 20)):
        raise steps.StepFailed("the second registrar has not ended")


RegistrarSide.words = {
    "look": _look, "stays": _stays, "runs": _runs, "restart_kubelet": _restart_kubelet, "wipe": _wipe, "place": _place, "read_only": _read_only,
    "second": _second,
}
