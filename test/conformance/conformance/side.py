# SPDX-License-Identifier: Apache-2.0
"""One side of one scenario: from a clean cluster to the raw recording."""

import http.client
import os
import shutil
import signal
import socket
import time

from . import kinds, steps
from .driver import Driver
from .scenario import ACCOUNTS, ScenarioError
from .sidecar import Sidecar


class Workplace:
    """What all sides of all scenarios share: the cluster, the proxy, a folder that is the same for each side, ports."""

    def __init__(self, cluster, proxy, folder, proxy_port, http_port, driver_program):
        self.cluster, self.proxy, self.folder = cluster, proxy, folder
        self.proxy_port, self.http_port, self.driver_program = proxy_port, http_port, driver_program
        self._tokens = {}

    def token(self, account):
        if account not in self._tokens:
            self._tokens[account] = self.cluster.token(account)
        return self._tokens[account]


class Side:
    words = {}  # steps besides those that all have

    def __init__(self, workplace, scenario, program):
        self.workplace, self.scenario, self.program = workplace, scenario, program
        self.cluster, self.api, self.proxy = workplace.cluster, workplace.cluster.api, workplace.proxy
        self.folder, self.templates = workplace.folder, scenario.templates
        self.uids = {}  # uid: "pvc/claim"
        self.http_answers = []
        self.failure = None

    def run(self):
        """The raw recording: what record.py makes channels of."""
        scenario = self.scenario
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.cluster.clean()
        self.proxy.reset()
        self.proxy.set_faults(scenario.api_faults)
        self.cluster.audit.begin()
        self._write_kubeconfig()
        self.driver = Driver(self.workplace.driver_program, self.folder)
        self.sidecar = Sidecar(scenario.sidecar, self.program, self.folder, clean_environment())
        begun = time.time()
        try:
            if scenario.controllers:
                self.cluster.start_controllers()
            for body in scenario.objects:
                self.created(self.api.create(body))
            self.driver.change(scenario.driver)
            if scenario.has_driver:
                self.driver.start()
            if scenario.start:
                self.start_sidecar([])
            self._play()
            if scenario.exits is None:
                self._ask_http()
                self.sidecar.signal(signal.SIGTERM)
                if not self.sidecar.wait(8):
                    self.failure = self.failure or "still running 8 s after SIGTERM"
        except ScenarioError:
            raise
        finally:
            self.sidecar.kill()
            self.proxy.close_connections()
            time.sleep(0.05)
            self.driver.stop()
            self.cluster.stop_controllers()
        return self._collect(begun)

    def _play(self):
        scenario = self.scenario
        try:
            if scenario.exits is not None and not scenario.steps:
                if not self.sidecar.wait(scenario.exits):
                    raise steps.StepFailed(f"the sidecar has not ended within {scenario.exits} s")
                return
            if scenario.start and scenario.ready:
                self._wait_until_it_watches()
                self.settle(0.3)
            for number, step in enumerate(scenario.steps, 1):
                try:
                    steps.run(step, self)
                except steps.StepFailed as error:
                    raise steps.StepFailed(f"step {number}: {error}") from error
            if scenario.exits is None:
                self.settle(scenario.settle)
        except steps.StepFailed as error:
            self.failure = str(error)

    def _wait_until_it_watches(self):
        deadline = time.monotonic() + 12
        while not any("watch=" in r["query"] for r in self.proxy.records()):
            if time.monotonic() > deadline or not self.sidecar.running:
                raise steps.StepFailed("the sidecar watches nothing")
            time.sleep(0.02)

    def holds(self, _):
        """Conditions besides those that all have: whether it is so, or None when it is none of them."""
        return None

    def created(self, body):
        kind = kinds.of_object(body)
        short = next(name for name, known in kinds.KINDS.items() if known is kind)
        self.uids[body["metadata"]["uid"]] = f"{short}/{body['metadata']['name']}"

    def resolve(self, reference):
        """"pv of pvc/claim" is the volume that is made for the claim."""
        if not reference.startswith("pv of "):
            return reference
        name = reference[len("pv of "):]
        for uid, made in self.uids.items():
            if made == name:
                return f"pv/pvc-{uid}"
        raise ValueError(f"there was no {name}")

    def start_sidecar(self, more):
        values = {"socket": self.driver.socket, "kubeconfig": f"{self.folder}/kubeconfig", "port": self.workplace.http_port,
                  "folder": self.folder}
        arguments = [a.format(**values) for a in [*self.scenario.arguments, *more]]
        self.sidecar.start(arguments, {k: v.format(**values) for k, v in self.scenario.environment.items()})

    def settle(self, seconds):
        """Returns when neither the API server nor the driver has been asked for so long, counted from now at the earliest. Renewals of a
        Lease do not count."""
        begun = time.time()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            last = max([begun] + [r["begin"] for r in self.proxy.records() if "/leases" not in r["path"]]
                       + [c["end"] / 1e6 for c in self.driver.calls()] + [self.sidecar.lives[-1]["begin"] if self.sidecar.lives else 0])
            if time.time() - last >= seconds:
                return
            time.sleep(0.03)
        raise steps.StepFailed(f"never quiet for {seconds} s")

    def sidecar_log(self):
        with open(self.sidecar.lives[-1]["stderr"], encoding="utf-8", errors="replace") as stream:
            return stream.read()

    def request_http(self, value):
        answer = {"request": f"{value.get('method', 'GET')} {value['path']}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.workplace.http_port, timeout=5)
        try:
            connection.request(value.get("method", "GET"), value["path"], headers=value.get("headers", {}))
            response = connection.getresponse()
            answer["status"] = response.status
            answer["headers"] = {name: text for name, text in response.getheaders()}
            answer["body"] = response.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            answer["error"] = type(error).__name__
        finally:
            connection.close()
        self.http_answers.append(answer)

    def _ask_http(self):
        if self.scenario.serves_http and self.sidecar.running:
            for value in [{"path": "/metrics"}, *self.scenario.http]:
                self.request_http(value)

    def _collect(self, begun):
        requests = self.proxy.records()
        audit = self.cluster.audit.wait_for([r["audit_id"] for r in requests
                                             if r["status"] and not r["fault"] and "watch=" not in r["query"]])
        objects = []
        for short in kinds.CLEANED:
            for body in self.api.list(kinds.KINDS[short]):
                objects.append((short, body))
                self.uids.setdefault(body["metadata"]["uid"], f"{short}/{body['metadata']['name']}")
        lives = []
        for life in self.sidecar.lives:
            with open(life["stdout"], encoding="utf-8", errors="replace") as out, open(life["stderr"], encoding="utf-8", errors="replace") as err:
                lives.append({**life, "stdout": out.read(), "stderr": err.read()})
        return {
            "requests": requests, "audit": audit, "calls": self.driver.calls(), "objects": objects, "lives": lives, "uids": self.uids,
            "http": self.http_answers, "failure": self.failure, "host": socket.gethostname(), "seconds": time.time() - begun,
            "folder": self.folder, "ports": [self.workplace.http_port, self.workplace.proxy_port],
        }

    def _write_kubeconfig(self):
        token = self.workplace.token(ACCOUNTS[self.scenario.sidecar])
        server, authority = f"https://127.0.0.1:{self.workplace.proxy_port}", f"{self.cluster.pki}/ca.crt"
        with open(f"{self.folder}/kubeconfig", "w", encoding="utf-8") as stream:
            stream.write(f"""apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: c}}}}]
clusters: [{{name: c, cluster: {{server: "{server}", certificate-authority: "{authority}"}}}}]
users: [{{name: c, user: {{token: "{token}"}}}}]
""")


def clean_environment():
    """Of the sidecar: nothing of the caller's that could change it. No authorities of the system: OpenSSL takes a second to load many."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "SSL_CERT_FILE": "/dev/null"}
