# SPDX-License-Identifier: Apache-2.0
"""One real API server for all scenarios, from scripts/e2e: etcd and kube-apiserver; nobody but the runner and the sidecar changes
objects. Scenarios that want Kubernetes' own controllers get kube-controller-manager for as long as they run."""

import fcntl
import os
import re
import signal
import subprocess
import time

import yaml

from . import kinds
from .api_client import ApiClient, ApiError
from .audit_log import AuditLog

ACCOUNT_NAMESPACE = "csi-native"
# Without the gate the API server drops the namespace of a claim's source.
_SERVER_FLAGS = "--feature-gates=CrossNamespaceVolumeDataSource=true"
_CONTROLLERS = ("persistentvolume-binder-controller,persistentvolume-protection-controller,"
                "persistentvolumeclaim-protection-controller")


class Cluster:
    def __init__(self, repository, instance=None):
        """An instance of its own, or the one in a folder, which stays up."""
        self.repository = repository
        self._e2e = os.path.join(repository, "scripts/e2e")
        self._owned = instance is None
        command = [self._e2e, "up", "--api-only"] if self._owned else [self._e2e, "env", "--dir", instance]
        environment = {**os.environ, "E2E_APISERVER_FLAGS": _SERVER_FLAGS}
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        self.dir = re.search(r"^export E2E_DIR=(\S+)$", lines, re.M)[1]
        self.bin = re.search(r"^export PATH=(\S+?):", lines, re.M)[1]
        # Runs with the same instance wait for each other.
        self._lock = open(f"{self.dir}/conformance.lock", "w", encoding="utf-8")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.pki = f"{self.dir}/pki"
        with open(f"{self.dir}/admin.kubeconfig", encoding="utf-8") as stream:
            self.port = int(re.search(r"server: https://127\.0\.0\.1:(\d+)", stream.read())[1])
        self.api = ApiClient(self.port, self.pki)
        self.audit = AuditLog(f"{self.dir}/logs/audit.log")
        self._controllers = None
        self._prepare()

    def _prepare(self):
        for name in (kinds.NAMESPACE, kinds.OTHER_NAMESPACE, ACCOUNT_NAMESPACE):
            try:
                self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            except ApiError as error:
                if error.status != 409:
                    raise
        here = os.path.dirname(os.path.dirname(__file__))
        for file in (f"{self.repository}/manifests/provisioner/rbac.yaml", f"{self.repository}/manifests/attacher/rbac.yaml",
                     f"{here}/cluster/rights.yaml", f"{here}/cluster/snapshot-crds.yaml", f"{here}/cluster/gateway-crds.yaml"):
            with open(file, encoding="utf-8") as stream:
                for body in yaml.safe_load_all(stream):
                    self._apply(body)
        deadline = time.monotonic() + 20
        while True:
            try:
                for path in ("/apis/snapshot.storage.k8s.io/v1/volumesnapshots", "/apis/gateway.networking.k8s.io/v1beta1/referencegrants"):
                    self.api.request("GET", path)
                break
            except ApiError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def _apply(self, body):
        group, _, version = body["apiVersion"].rpartition("/")
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        resource = body["kind"].lower() + "s"
        namespace = body["metadata"].get("namespace")
        try:
            self.api.request("POST", f"{root}/namespaces/{namespace}/{resource}" if namespace else f"{root}/{resource}", body)
        except ApiError as error:
            if error.status != 409:
                raise

    def token(self, account):
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 24 * 3600}}
        path = f"/api/v1/namespaces/{ACCOUNT_NAMESPACE}/serviceaccounts/{account}/token"
        return self.api.request("POST", path, body)["status"]["token"]

    def start_controllers(self):
        with open(f"{self.dir}/logs/kube-controller-manager.log", "ab") as log:
            self._controllers = subprocess.Popen(
                [f"{self.bin}/kube-controller-manager", "--kubeconfig", f"{self.dir}/kube-controller-manager.kubeconfig",
                 "--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=1000", "--secure-port=0", "--use-service-account-credentials",
                 f"--controllers={_CONTROLLERS}", f"--flex-volume-plugin-dir={self.dir}/flexvolume"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "E2E_PROCESS_OF": self.dir})

    def stop_controllers(self):
        if self._controllers:
            self._controllers.send_signal(signal.SIGKILL)
            self._controllers.wait()
            self._controllers = None

    def clean(self):
        """Takes away all objects that a scenario may have made."""
        deadline = time.monotonic() + 20
        while True:
            left = [(kind, item) for kind in map(kinds.KINDS.get, kinds.CLEANED) for item in self.api.list(kind)]
            if not left:
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"cannot remove {[item['metadata']['name'] for _, item in left]}")
            for kind, item in left:
                self.api.remove(kind, item)

    def down(self):
        self.stop_controllers()
        if self._owned:
            subprocess.run([self._e2e, "down", "--dir", self.dir], check=True)
