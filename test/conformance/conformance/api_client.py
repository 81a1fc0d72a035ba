# SPDX-License-Identifier: Apache-2.0
"""The API server as its administrator sees it: JSON over one connection. Not for several threads."""

import http.client
import json
import ssl
import time

from . import kinds

MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text[:400]}")
        self.status = status


class ApiClient:
    def __init__(self, port, pki):
        self._port = port
        self._context = ssl.create_default_context(cafile=f"{pki}/ca.crt")
        self._context.load_cert_chain(f"{pki}/admin.crt", f"{pki}/admin.key")
        self._connection = None

    def request(self, method, path, body=None, content_type="application/json"):
        deadline = time.monotonic() + 20
        while True:
            try:
                return self._once(method, path, body, content_type)
            except ApiError as error:
                # The storage of a new kind is not ready at once.
                if error.status != 429 or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def _once(self, method, path, body, content_type):
        data = None if body is None else json.dumps(body)
        for attempt in (0, 1):
            if self._connection is None:
                self._connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context, timeout=30)
            try:
                self._connection.request(method, path, data, {"Content-Type": content_type, "User-Agent": "conformance"})
                response = self._connection.getresponse()
                text = response.read().decode()
                break
            except (http.client.HTTPException, OSError):
                self._connection.close()
                self._connection = None
                if attempt:
                    raise
        if response.status >= 400:
            raise ApiError(response.status, text)
        return json.loads(text)

    def create(self, body):
        kind = kinds.of_object(body)
        namespace = body["metadata"].get("namespace")
        made = self.request("POST", kind.path(namespace), body)
        if "status" in body and kind.kind != "Namespace":
            made = self.patch_object(kind, namespace, made["metadata"]["name"], {"status": body["status"]}, "status")
        return made

    def patch_object(self, kind, namespace, name, body, subresource=None):
        path = kind.path(namespace, name) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, body, MERGE_PATCH)

    def patch(self, reference, body, subresource=None):
        kind, namespace, name = kinds.split(reference)
        return self.patch_object(kind, namespace, name, body, subresource)

    def get(self, reference):
        """The object, or None."""
        kind, namespace, name = kinds.split(reference)
        try:
            return self.request("GET", kind.path(namespace, name))
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def delete(self, reference):
        kind, namespace, name = kinds.split(reference)
        return self.request("DELETE", kind.path(namespace, name))

    def list(self, kind):
        """All objects of a kind, none when the API server does not know it; without those of Kubernetes' own namespaces, except default,
        where events about volumes are."""
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        try:
            items = self.request("GET", f"{root}/{kind.resource}")["items"]
        except ApiError as error:
            if error.status != 404:
                raise
            return []
        items = [i for i in items if not i["metadata"].get("namespace", "").startswith("kube-")]
        for item in items:
            item.setdefault("kind", kind.kind)
            item.setdefault("apiVersion", kind.api_version)
        return items

    def remove(self, kind, item):
        """Deletes an object whatever its finalizers say. Nothing happens to one that is gone."""
        meta = item["metadata"]
        path = kind.path(meta.get("namespace"), meta["name"])
        try:
            if meta.get("finalizers"):
                self.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
            self.request("DELETE", path, {"gracePeriodSeconds": 0})
            if meta.get("finalizers") or kind.resource.startswith("persistent"):
                # Admission puts a finalizer on some at creation.
                self.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
        except ApiError as error:
            if error.status != 404:
                raise
