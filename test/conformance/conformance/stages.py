# SPDX-License-Identifier: Apache-2.0
"""Where scenarios run: each stage starts what its scenarios share, gives both recordings of one, and takes all down."""

import copy
import glob
import os
import socket

from . import channels, races
from .api_proxy import ApiProxy
from .cluster import Cluster
from .expectation import filled, sides as expected_sides
from .mounts import MountSide
from .node_cluster import NodeCluster
from .registrar import RegistrarSide
from .side import Side, Workplace


class Recording:
    """Of one side: channels, how long it took, and what is kept besides with --save and with --record."""

    def __init__(self, made, seconds, raw=None, for_self_test=None):
        self.made, self.seconds, self.raw, self.for_self_test = made, seconds, raw, for_self_test

    @property
    def failure(self):
        return self.made["steps"]["steps"][0]["failure"]


def build_folder(repository):
    return os.environ.get("E2E_BUILD") or f"{repository}/build/release"


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Sidecars:
    """Upstream's csi-attacher and csi-provisioner and ours, on one API server."""

    names = ("upstream", "ours")

    def __init__(self, repository, folder, options):
        self._repository, self._sides = repository, options.sides.split(",")
        self._cluster = Cluster(repository, options.instance)
        proxy_port, http_port = _free_port(), _free_port()
        proxy = ApiProxy(proxy_port, self._cluster.port, self._cluster.pki)
        self._workplace = Workplace(self._cluster, proxy, f"{folder}/run", proxy_port, http_port, f"{build_folder(repository)}/bin/scripted-driver")

    def record(self, item):
        for side in self._sides:
            raw = Side(self._workplace, item, self._program(side, item.sidecar)).run()
            made = channels.make(raw, item)
            before = {"races": item.races, "channels": copy.deepcopy(made)} if side == "upstream" else None
            kept = {k: raw[k] for k in ("lives", "failure", "calls", "requests")}
            races.apply(made, item.races)
            yield Recording(made, raw["seconds"], kept, before)

    def _program(self, side, sidecar):
        if side == "ours":
            return f"{build_folder(self._repository)}/bin/{sidecar}"
        cache = os.environ.get("CSI_NATIVE_CACHE") or os.path.expanduser("~/.cache/csi-native")
        # scripts/conformance has built it, and says where.
        return os.path.join(os.environ.get("CONFORMANCE_UPSTREAM") or max(glob.glob(f"{cache}/cluster/upstream-*/")), sidecar)

    def down(self):
        self._cluster.down()


class Registrar:
    """csi-node-driver-registrar and the real kubelet, against what the scenario expects."""

    names = ("expected", "ours")

    def __init__(self, repository, folder, options):
        self._program = f"{build_folder(repository)}/bin/csi-node-driver-registrar"
        self._cluster = NodeCluster(repository, options.instance)
        self._workplace = Workplace(self._cluster, None, f"{folder}/run", 0, _free_port(), f"{build_folder(repository)}/bin/scripted-driver")

    def record(self, item):
        side = RegistrarSide(self._workplace, item, self._program)
        made, seconds = side.run()
        expect = filled(item.expect, side.values)
        left, right = expected_sides(expect, made)
        yield Recording(left, 0.0)
        yield Recording(right, seconds, made, {"expect": expect, "channels": made})

    def down(self):
        self._cluster.down()


class Mounts:
    """The real kubelet and csi-volume-manager."""

    names = ("kubelet", "ours")

    def __init__(self, repository, _, options):
        self._cluster = NodeCluster(repository, options.instance, two_nodes=True)
        self._sides = {"upstream,ours": (True, False), "upstream,upstream": (True, True), "ours,ours": (False, False)}[options.sides]

    def record(self, item):
        for kubelet in self._sides:
            made, seconds = MountSide(self._cluster, item, kubelet).run()
            yield Recording(made, seconds, None, {"races": [], "channels": made} if kubelet else None)

    def down(self):
        self._cluster.down()


# In this order. What the scenarios of a stage need is in scenario.py.
STAGES = {"sidecars": Sidecars, "registrar": Registrar, "mounts": Mounts}
