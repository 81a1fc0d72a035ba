# SPDX-License-Identifier: Apache-2.0
"""The scripted driver as a process, and its script from the few lines of a scenario.

    driver:
      name: driver.example.com               # default conformance.csi-native.io
      plugin: [CONTROLLER_SERVICE]           # plugin capabilities; this is the default
      controller: [CREATE_DELETE_VOLUME]     # controller capabilities
      answers: {CreateVolume: {...}}         # instead of the usual answer; null: not implemented
      rules:                                 # see test/support/scripted_driver/script.h
      - {method: CreateVolume, calls: [1], code: Unavailable, message: later, delay_ms: 300}
"""

import json
import os
import signal
import subprocess
import time

CODES = ["OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied",
         "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss",
         "Unauthenticated"]
NAME = "conformance.csi-native.io"
_IDENTITY = ("Probe", "GetPluginInfo", "GetPluginCapabilities")


def _full(method):
    service = "Identity" if method in _IDENTITY else "Node" if method.startswith("Node") else "Controller"
    return f"/csi.v1.{service}/{method}"


def script_of(settings):
    def capability(name):
        return {"service": {"type": name}} if name else {}

    answers = {
        "Probe": {"ready": True},
        "GetPluginInfo": {"name": settings.get("name", NAME), "vendor_version": "1.0"},
        "GetPluginCapabilities": {"capabilities": [capability(c) for c in settings.get("plugin", ["CONTROLLER_SERVICE"])]},
        "ControllerGetCapabilities": {"capabilities": [{"rpc": {"type": c}} if c else {} for c in settings.get("controller", [])]},
        "CreateVolume": {"volume": {"volume_id": "handle-${name}", "capacity_bytes": "${capacity_range.required_bytes}",
                                    "content_source": "${volume_content_source}"}},
        "DeleteVolume": {}, "ControllerPublishVolume": {}, "ControllerUnpublishVolume": {}, "ListVolumes": {},
    }
    for method, answer in settings.get("answers", {}).items():
        answers[method] = answer
    rules = []
    for rule in settings.get("rules", []):
        rule = dict(rule, method=_full(rule["method"]))
        if "code" in rule:
            rule["code"] = CODES.index(rule["code"])
            rule.setdefault("message", "injected")
        rules.append(rule)
    return {"answers": {_full(m): a for m, a in answers.items() if a is not None}, "rules": rules}


class Driver:
    def __init__(self, program, folder, socket=None):
        self._program = program
        self.socket = socket or f"{folder}/csi.sock"
        self._script = f"{folder}/driver.json"
        self._calls = f"{folder}/calls"
        self._output = f"{folder}/driver.log"
        self._process = None
        self._settings = {}

    def start(self, settings=None):
        if settings is not None:
            self.change(settings)
        with open(self._output, "ab") as log:
            self._process = subprocess.Popen([self._program, self.socket, self._script, self._calls],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 10
        while not os.path.exists(self.socket):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the driver did not start, see {self._output}")
            time.sleep(0.01)

    def change(self, settings):
        """Members of the settings are replaced one by one. Counting of calls begins again."""
        self._settings = {**self._settings, **settings}
        with open(self._script + ".new", "w", encoding="utf-8") as stream:
            json.dump(script_of(self._settings), stream)
        os.replace(self._script + ".new", self._script)

    def stop(self, number=signal.SIGTERM):
        if self._process:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None
            if os.path.exists(self.socket):
                os.unlink(self.socket)

    def calls(self):
        """In the order in which they came; only those that are over."""
        if not os.path.exists(self._calls):
            return []
        with open(self._calls, encoding="utf-8") as stream:
            calls = [json.loads(line) for line in stream if line.endswith("\n")]
        return sorted(calls, key=lambda call: call["begin"])
