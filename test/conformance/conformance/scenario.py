# SPDX-License-Identifier: Apache-2.0
"""Scenario files: what each member means, and what is wrong with a file. README.md has the long form."""

import copy
import glob
import os

import yaml

_MEMBERS = {
    "description", "sidecar", "args", "arguments", "environment", "driver", "objects", "controllers", "api_faults", "steps", "exits", "races",
    "order", "log", "http", "settle", "start", "ready", "without_driver",
}
_STANDARD = ["--csi-address={socket}", "--kubeconfig={kubeconfig}", "--http-endpoint=127.0.0.1:{port}", "--retry-interval-start=200ms"]
ACCOUNTS = {"csi-attacher": "csi-attacher", "csi-provisioner": "csi-provisioner"}


# Of scenarios with the real kubelet.
_REGISTRAR_MEMBERS = {"description", "args", "arguments", "environment", "driver", "without_driver", "start", "steps", "node_labels", "expect"}
_REGISTRAR_STANDARD = ["--csi-address={socket}", "--kubelet-registration-path={kubelet_socket}", "--plugin-registration-path={registry}",
                       "--http-endpoint=127.0.0.1:{port}", "-v=5"]
_MOUNT_MEMBERS = {"description", "driver_flags", "csi_driver", "storage_class", "objects", "claims", "steps"}


class ScenarioError(Exception):
    pass


class _AnyScenario:
    """What scenarios of each kind have."""

    def __init__(self, name, settings, templates, members):
        if unknown := set(settings) - members:
            raise ScenarioError(f"{name}: unknown members {sorted(unknown)}")
        self.name, self.templates = name, templates
        self.description = settings.get("description", "")
        self.steps = settings.get("steps", [])


class RegistrarScenario(_AnyScenario):
    """csi-node-driver-registrar between the scripted driver and the real kubelet (registrar.py)."""

    stage = "registrar"
    sidecar = "csi-node-driver-registrar"

    def __init__(self, name, settings, templates):
        super().__init__(name, settings, templates, _REGISTRAR_MEMBERS)
        # Another one for each: kubelet remembers for a while which sockets have failed.
        self.driver_name = name.rsplit("/", 1)[-1] + ".test"
        self.arguments = settings["arguments"] if "arguments" in settings else _REGISTRAR_STANDARD + settings.get("args", [])
        self.environment = settings.get("environment", {})
        self.driver = {"answers": {"NodeGetInfo": {"node_id": "id-1"}}, **settings.get("driver", {})}
        self.has_driver = not settings.get("without_driver", False)
        self.start = settings.get("start", True)
        self.node_labels = settings.get("node_labels", {})
        # {channel: {lane: [item, ...]}}. Nothing failed, and the program ended well, unless it says otherwise.
        self.expect = {"steps": {"steps": [{"failure": None}]}, **settings["expect"]}
        self.expect.setdefault("exit", {}).setdefault("end", [{"end": "exit 0"}])


class MountScenario(_AnyScenario):
    """The same pods with kubelet and with csi-volume-manager (mounts.py)."""

    stage = "mounts"
    sidecar = "csi-volume-manager"

    def __init__(self, name, settings, templates):
        super().__init__(name, settings, templates, _MOUNT_MEMBERS)
        self.driver_flags = settings.get("driver_flags", [])
        self.csi_driver = settings.get("csi_driver", {})
        self.storage_class = settings.get("storage_class", {})
        self.objects = [expand(o, templates) for o in settings.get("objects", [])]
        self.claims = settings.get("claims", {})
        self.restarts_driver = any("restart_driver" in step for step in self.steps)


class Scenario(_AnyScenario):
    """Upstream's sidecar and ours beside the scripted driver and an API server (side.py)."""

    stage = "sidecars"

    def __init__(self, name, settings, templates):
        super().__init__(name, settings, templates, _MEMBERS)
        self.sidecar = settings.get("sidecar") or "csi-" + name.split("/")[0]
        if self.sidecar not in ACCOUNTS:
            raise ScenarioError(f"{name}: no sidecar is called {self.sidecar}")
        self.arguments = settings["arguments"] if "arguments" in settings else _STANDARD + settings.get("args", [])
        self.environment = settings.get("environment", {})
        self.driver = settings.get("driver", {})
        self.has_driver = not settings.get("without_driver", False)
        self.objects = [expand(o, templates) for o in settings.get("objects", [])]
        self.controllers = settings.get("controllers", False)
        self.api_faults = settings.get("api_faults", [])
        self.steps = [_expand_step(s, templates) for s in settings.get("steps", [])]
        # The seconds within which the sidecar ends by itself.
        self.exits = settings.get("exits")
        self.races = settings.get("races", [])
        self.order = settings.get("order", True)
        self.log = settings.get("log", "form")
        self.http = settings.get("http", [])
        self.settle = settings.get("settle", 0.4)
        # False: a step starts the sidecar.
        self.start = settings.get("start", True)
        # Whether the first step waits until the sidecar watches something and is quiet.
        self.ready = settings.get("ready", True)

    @property
    def serves_http(self):
        return any("{port}" in argument for argument in self.arguments)


def expand(body, templates):
    """{use: NAME, name: ..., with: {...}}: the template of objects.yaml with that name and those members."""
    if "use" not in body:
        return body
    unknown = set(body) - {"use", "name", "with"}
    if unknown or body["use"] not in templates:
        raise ScenarioError(f"not an object: {body}")
    made = copy.deepcopy(templates[body["use"]])
    if "name" in body:
        made["metadata"]["name"] = body["name"]
    merge(made, body.get("with", {}))
    return made


def merge(target, changes):
    """As a merge patch: null removes."""
    for key, value in changes.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = copy.deepcopy(value)


def _expand_step(step, templates):
    if len(step) != 1:
        raise ScenarioError(f"a step has one member: {step}")
    if "create" in step:
        return {"create": expand(step["create"], templates)}
    return step


_KINDS = {"registrar": RegistrarScenario, "volume-manager": MountScenario}


def load_all(folder):
    with open(f"{folder}/objects.yaml", encoding="utf-8") as stream:
        templates = yaml.safe_load(stream)
    scenarios = {}
    for file in sorted(glob.glob(f"{folder}/scenarios/*/*.yaml")):
        name = os.path.relpath(file, f"{folder}/scenarios")[: -len(".yaml")]
        with open(file, encoding="utf-8") as stream:
            kind = _KINDS.get(name.split("/")[0], Scenario)
            scenarios[name] = kind(name, yaml.safe_load(stream), templates)
    return scenarios
