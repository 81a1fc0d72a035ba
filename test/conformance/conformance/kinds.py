# SPDX-License-Identifier: Apache-2.0
"""The kinds of objects that scenarios use, by the short names that they are written with: "pvc/claim", "va/one"."""

from dataclasses import dataclass

NAMESPACE = "conformance"
# For sources of claims that are in another namespace.
OTHER_NAMESPACE = "elsewhere"


@dataclass(frozen=True)
class Kind:
    group: str  # "" is the core group
    version: str
    resource: str
    kind: str
    namespaced: bool

    @property
    def api_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace=None, name=None):
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        where = f"/namespaces/{namespace or NAMESPACE}" if self.namespaced else ""
        return f"{root}{where}/{self.resource}" + (f"/{name}" if name else "")


_STORAGE = "storage.k8s.io"
_SNAPSHOT = "snapshot.storage.k8s.io"

KINDS = {
    "namespace": Kind("", "v1", "namespaces", "Namespace", False),
    "pv": Kind("", "v1", "persistentvolumes", "PersistentVolume", False),
    "pvc": Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True),
    "node": Kind("", "v1", "nodes", "Node", False),
    "secret": Kind("", "v1", "secrets", "Secret", True),
    "event": Kind("", "v1", "events", "Event", True),
    "class": Kind(_STORAGE, "v1", "storageclasses", "StorageClass", False),
    "va": Kind(_STORAGE, "v1", "volumeattachments", "VolumeAttachment", False),
    "csinode": Kind(_STORAGE, "v1", "csinodes", "CSINode", False),
    "vac": Kind(_STORAGE, "v1", "volumeattributesclasses", "VolumeAttributesClass", False),
    "lease": Kind("coordination.k8s.io", "v1", "leases", "Lease", True),
    "snapshot": Kind(_SNAPSHOT, "v1", "volumesnapshots", "VolumeSnapshot", True),
    "content": Kind(_SNAPSHOT, "v1", "volumesnapshotcontents", "VolumeSnapshotContent", False),
    "grant": Kind("gateway.networking.k8s.io", "v1beta1", "referencegrants", "ReferenceGrant", True),
}

# What a run may leave behind, in the order in which it is taken away.
CLEANED = ("va", "grant", "snapshot", "content", "pvc", "pv", "class", "vac", "csinode", "node", "secret", "lease", "event")


def split(reference):
    """"pvc/claim" or "pvc/namespace/claim": the kind, the namespace (None: the usual one) and the name."""
    parts = reference.split("/")
    kind = KINDS.get(parts[0])
    if kind is None or not 2 <= len(parts) <= 3:
        raise ValueError(f"no object is called {reference!r}")
    return kind, (parts[1] if len(parts) == 3 else None), parts[-1]


def of_object(body):
    for kind in KINDS.values():
        if kind.kind == body.get("kind") and kind.api_version == body.get("apiVersion"):
            return kind
    raise ValueError(f"unknown kind {body.get('apiVersion')} {body.get('kind')}")
