# SPDX-License-Identifier: Apache-2.0
"""A real cluster with a real node, from scripts/e2e: control plane, containerd, kubelet; with two_nodes also the second node, where
csi-volume-manager is in kubelet's place, the sample driver and our sidecars."""

import os
import re
import subprocess
import time

from .api_client import MERGE_PATCH, ApiClient, ApiError
from .audit_log import AuditLog

NODE = "e2e-node"
SECOND_NODE = "e2e-second-node"
KUBELET_ROOT = "/var/lib/kubelet"
ANNOTATION = "csi.volume.kubernetes.io/nodeid"


class NodeCluster:
    def __init__(self, repository, instance=None, two_nodes=False):
        self._e2e = os.path.join(repository, "scripts/e2e")
        self._owned = instance is None
        policy = f"{repository}/test/conformance/cluster/node-audit-policy.yaml"
        command = [self._e2e, "up", "--two-nodes" if two_nodes else "--node"] if self._owned else [self._e2e, "env", "--dir", instance]
        environment = {**os.environ, "E2E_AUDIT_POLICY": policy}
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        self.dir = re.search(r"^export E2E_DIR=(\S+)$", lines, re.M)[1]
        with open(f"{self.dir}/admin.kubeconfig", encoding="utf-8") as stream:
            port = int(re.search(r"server: https://127\.0\.0\.1:(\d+)", stream.read())[1])
        self.api = ApiClient(port, f"{self.dir}/pki")
        self.audit = AuditLog(f"{self.dir}/logs/audit.log")
        self.registry = f"{self.dir}/node/kubelet/plugins_registry"

    def restart(self, part, *flags):
        subprocess.run([self._e2e, "restart", "--dir", self.dir, part, *flags], check=True)

    def csinode_drivers(self, node=NODE):
        try:
            return self.api.request("GET", f"/apis/storage.k8s.io/v1/csinodes/{node}")["spec"]["drivers"] or []
        except ApiError as error:
            if error.status != 404:
                raise
            return []

    def node(self, name=NODE):
        return self.api.request("GET", f"/api/v1/nodes/{name}")

    def patch_node(self, body, name=NODE):
        return self.api.request("PATCH", f"/api/v1/nodes/{name}", body, MERGE_PATCH)

    def namespace_pid(self, holder):
        """Of the process that holds the namespaces of "node" or "second-node"; of the first one it is its child, the node's process 1."""
        with open(f"{self.dir}/processes/{holder}", encoding="utf-8") as stream:
            pid = stream.read().split()[0]
        if holder == "second-node":
            return pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as stream:
            return stream.read().split()[0]

    def node_writes(self, node):
        """What the programs of a node have written since the audit log's begin, successful or not, in the order of the answers."""
        users = {NODE: f"system:node:{NODE}", SECOND_NODE: "system:serviceaccount:csi-native:csi-volume-manager"}
        events = [e for e in self.audit.events().values() if e["user"]["username"] == users[node] and e["stage"] == "ResponseComplete"]
        return sorted(events, key=lambda e: e["stageTimestamp"])

    def wait(self, seconds, holds):
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def down(self):
        if self._owned:
            subprocess.run([self._e2e, "down", "--dir", self.dir], check=True)
