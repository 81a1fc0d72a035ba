// SPDX-License-Identifier: Apache-2.0
//
// Keys and names that several Kubernetes components agree on, verbatim. Grouped by where they
// stand; the section of the specification behind each group is named. Names of kinds and resources
// are in apis/resource_table.h.
#pragma once

#include <string_view>

namespace csinative::apis {

// --- annotations on claims and volumes (provisioner 1, volumecontroller 1, resizer 1) ------------

// PVC: who is to provision. The second is looked at only when the first is absent; an empty first
// one wins.
inline constexpr std::string_view kAnnStorageProvisioner =
    "volume.kubernetes.io/storage-provisioner";
inline constexpr std::string_view kAnnBetaStorageProvisioner =
    "volume.beta.kubernetes.io/storage-provisioner";
// PVC: the node that the scheduler chose, and the key of old that only Provision falls back to.
inline constexpr std::string_view kAnnSelectedNode = "volume.kubernetes.io/selected-node";
inline constexpr std::string_view kAnnAlphaSelectedNode =
    "volume.alpha.kubernetes.io/selected-node";
// PVC, PV: class name; beats spec.storageClassName whenever the key exists.
inline constexpr std::string_view kAnnBetaStorageClass = "volume.beta.kubernetes.io/storage-class";
// PVC, PV: the driver that took over from an in-tree plugin.
inline constexpr std::string_view kAnnMigratedTo = "pv.kubernetes.io/migrated-to";
// PVC, PV: the binder's own marks.
inline constexpr std::string_view kAnnBindCompleted = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view kAnnBoundByController = "pv.kubernetes.io/bound-by-controller";
// PV: who provisioned it.
inline constexpr std::string_view kAnnProvisionedBy = "pv.kubernetes.io/provisioned-by";
// PV: secrets for DeleteVolume and ControllerModifyVolume.
inline constexpr std::string_view kAnnDeletionSecretName =
    "volume.kubernetes.io/provisioner-deletion-secret-name";
inline constexpr std::string_view kAnnDeletionSecretNamespace =
    "volume.kubernetes.io/provisioner-deletion-secret-namespace";
inline constexpr std::string_view kAnnModifySecretName =
    "volume.kubernetes.io/controller-modify-secret-name";
inline constexpr std::string_view kAnnModifySecretNamespace =
    "volume.kubernetes.io/controller-modify-secret-namespace";
// PVC: who is to expand it; whether the node has nothing to do ("true").
inline constexpr std::string_view kAnnStorageResizer = "volume.kubernetes.io/storage-resizer";
inline constexpr std::string_view kAnnNodeExpansionNotRequired =
    "volume.kubernetes.io/node-expansion-not-required";
// PV: size before an expansion whose node step is open.
inline constexpr std::string_view kAnnPreResizeCapacity =
    "volume.alpha.kubernetes.io/pre-resize-capacity";
// PV: group id that pods get, and mount options of old (they beat spec.mountOptions).
inline constexpr std::string_view kAnnGid = "pv.beta.kubernetes.io/gid";
inline constexpr std::string_view kAnnBetaMountOptions = "volume.beta.kubernetes.io/mount-options";

// --- annotations elsewhere
// ------------------------------------------------------------------------

// StorageClass: the default class ("true").
inline constexpr std::string_view kAnnIsDefaultClass =
    "storageclass.kubernetes.io/is-default-class";
inline constexpr std::string_view kAnnBetaIsDefaultClass =
    "storageclass.beta.kubernetes.io/is-default-class";
// VolumeAttachment: node id used for publishing (attacher 7).
inline constexpr std::string_view kAnnNodeId = "csi.alpha.kubernetes.io/node-id";
// Node: JSON object from driver to node id (volumemanager-csi).
inline constexpr std::string_view kAnnCsiNodeIds = "csi.volume.kubernetes.io/nodeid";
// Node: the attach-detach controller and not kubelet attaches ("true").
inline constexpr std::string_view kAnnControllerManagedAttach =
    "volumes.kubernetes.io/controller-managed-attach-detach";
// CSINode: in-tree plugins that are migrated.
inline constexpr std::string_view kAnnMigratedPlugins =
    "storage.alpha.kubernetes.io/migrated-plugins";
// Pod: a mirror of a static pod.
inline constexpr std::string_view kAnnConfigMirror = "kubernetes.io/config.mirror";
// Bookmarks: the end of the initial events of a watch-list (kube-client 13.3).
inline constexpr std::string_view kAnnInitialEventsEnd = "k8s.io/initial-events-end";
// VolumeSnapshotContent: the volume mode may change on restore (provisioner 9.4).
inline constexpr std::string_view kAnnAllowVolumeModeChange =
    "snapshot.storage.kubernetes.io/allow-volume-mode-change";

// --- finalizers
// -----------------------------------------------------------------------------------

inline constexpr std::string_view kFinalizerProvisioner =
    "external-provisioner.volume.kubernetes.io/finalizer";  // PV
inline constexpr std::string_view kFinalizerCloning =
    "provisioner.storage.kubernetes.io/cloning-protection";  // source PVC
inline constexpr std::string_view kFinalizerSnapshotSource =
    "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection";  // VolumeSnapshot
inline constexpr std::string_view kFinalizerPvcProtection = "kubernetes.io/pvc-protection";
inline constexpr std::string_view kFinalizerPvProtection = "kubernetes.io/pv-protection";
inline constexpr std::string_view kFinalizerVacProtection = "kubernetes.io/vac-protection";
inline constexpr std::string_view kFinalizerPvController = "kubernetes.io/pv-controller";
// VolumeAttachment and PV: followed by the sanitised driver name (attacher 7).
inline constexpr std::string_view kFinalizerAttacherPrefix = "external-attacher/";

// --- snapshots (snapshotter 2)
// ----------------------------------------------------------------------

inline constexpr std::string_view kFinalizerSnapshotContent =
    "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection";
inline constexpr std::string_view kFinalizerSnapshotAsSource =
    "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection";
inline constexpr std::string_view kFinalizerSnapshotBound =
    "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection";
inline constexpr std::string_view kFinalizerSnapshotInGroup =
    "snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection";
inline constexpr std::string_view kFinalizerSnapshotPvc =
    "snapshot.storage.kubernetes.io/pvc-as-source-protection";
inline constexpr std::string_view kFinalizerGroupSnapshotContent =
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection";
inline constexpr std::string_view kFinalizerGroupSnapshotBound =
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection";
inline constexpr std::string_view kAnnIsDefaultSnapshotClass =
    "snapshot.storage.kubernetes.io/is-default-class";
inline constexpr std::string_view kAnnIsDefaultGroupSnapshotClass =
    "groupsnapshot.storage.kubernetes.io/is-default-class";
inline constexpr std::string_view kAnnSnapshotBeingCreated =
    "snapshot.storage.kubernetes.io/volumesnapshot-being-created";
inline constexpr std::string_view kAnnSnapshotBeingDeleted =
    "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted";
inline constexpr std::string_view kAnnGroupSnapshotBeingCreated =
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created";
inline constexpr std::string_view kAnnGroupSnapshotBeingDeleted =
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted";
inline constexpr std::string_view kAnnSnapshotSecretName =
    "snapshot.storage.kubernetes.io/deletion-secret-name";
inline constexpr std::string_view kAnnSnapshotSecretNamespace =
    "snapshot.storage.kubernetes.io/deletion-secret-namespace";
inline constexpr std::string_view kAnnGroupSnapshotSecretName =
    "groupsnapshot.storage.kubernetes.io/deletion-secret-name";
inline constexpr std::string_view kAnnGroupSnapshotSecretNamespace =
    "groupsnapshot.storage.kubernetes.io/deletion-secret-namespace";
inline constexpr std::string_view kAnnGroupSnapshotHandle =
    "groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle";
inline constexpr std::string_view kLabelSnapshotManagedBy =
    "snapshot.storage.kubernetes.io/managed-by";

// --- labels and taints
// ------------------------------------------------------------------------------

inline constexpr std::string_view kLabelZone = "topology.kubernetes.io/zone";
inline constexpr std::string_view kLabelBetaZone = "failure-domain.beta.kubernetes.io/zone";
inline constexpr std::string_view kLabelHostname = "kubernetes.io/hostname";
// CSIStorageCapacity: driver and owner (provisioner-topology-capacity).
inline constexpr std::string_view kLabelCapacityDriver = "csi.storage.k8s.io/drivername";
inline constexpr std::string_view kLabelCapacityManagedBy = "csi.storage.k8s.io/managed-by";
inline constexpr std::string_view kTaintOutOfService = "node.kubernetes.io/out-of-service";

// --- parameters and contexts handed to drivers
// --------------------------------------------------------

// StorageClass parameters with this prefix are for us and do not reach the driver.
inline constexpr std::string_view kParameterPrefix = "csi.storage.k8s.io/";
inline constexpr std::string_view kParameterFsType = "csi.storage.k8s.io/fstype";
// Added to the parameters of CreateVolume with --extra-create-metadata.
inline constexpr std::string_view kParameterPvcName = "csi.storage.k8s.io/pvc/name";
inline constexpr std::string_view kParameterPvcNamespace = "csi.storage.k8s.io/pvc/namespace";
inline constexpr std::string_view kParameterPvName = "csi.storage.k8s.io/pv/name";
// Volume attribute: identity of the provisioner process that made the volume.
inline constexpr std::string_view kAttributeProvisionerIdentity =
    "storage.kubernetes.io/csiProvisionerIdentity";
// volume_context of NodePublishVolume with podInfoOnMount (volumemanager-csi).
inline constexpr std::string_view kContextPodName = "csi.storage.k8s.io/pod.name";
inline constexpr std::string_view kContextPodNamespace = "csi.storage.k8s.io/pod.namespace";
inline constexpr std::string_view kContextPodUid = "csi.storage.k8s.io/pod.uid";
inline constexpr std::string_view kContextServiceAccount = "csi.storage.k8s.io/serviceAccount.name";
inline constexpr std::string_view kContextEphemeral = "csi.storage.k8s.io/ephemeral";
inline constexpr std::string_view kContextServiceAccountTokens =
    "csi.storage.k8s.io/serviceAccount.tokens";

// --- values
// -------------------------------------------------------------------------------------------

// Key of a size in capacity and resource maps.
inline constexpr std::string_view kResourceStorage = "storage";
// Provisioner of classes whose volumes are made by hand.
inline constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
// kubelet's name for all CSI drivers, and the first part of unique volume names.
inline constexpr std::string_view kCsiPluginName = "kubernetes.io/csi";

inline constexpr std::string_view kReclaimDelete = "Delete";
inline constexpr std::string_view kReclaimRetain = "Retain";
inline constexpr std::string_view kReclaimRecycle = "Recycle";
inline constexpr std::string_view kBindingImmediate = "Immediate";
inline constexpr std::string_view kBindingWaitForFirstConsumer = "WaitForFirstConsumer";
inline constexpr std::string_view kVolumeModeFilesystem = "Filesystem";
inline constexpr std::string_view kVolumeModeBlock = "Block";
inline constexpr std::string_view kReadWriteOnce = "ReadWriteOnce";
inline constexpr std::string_view kReadOnlyMany = "ReadOnlyMany";
inline constexpr std::string_view kReadWriteMany = "ReadWriteMany";
inline constexpr std::string_view kReadWriteOncePod = "ReadWriteOncePod";
inline constexpr std::string_view kVolumePending = "Pending";
inline constexpr std::string_view kVolumeAvailable = "Available";
inline constexpr std::string_view kVolumeBound = "Bound";
inline constexpr std::string_view kVolumeReleased = "Released";
inline constexpr std::string_view kVolumeFailed = "Failed";
inline constexpr std::string_view kClaimPending = "Pending";
inline constexpr std::string_view kClaimBound = "Bound";
inline constexpr std::string_view kClaimLost = "Lost";

// --- groups and versions
// ------------------------------------------------------------------------------

inline constexpr std::string_view kCoreV1 = "v1";
inline constexpr std::string_view kStorageV1 = "storage.k8s.io/v1";
inline constexpr std::string_view kCoordinationV1 = "coordination.k8s.io/v1";
inline constexpr std::string_view kAuthenticationV1 = "authentication.k8s.io/v1";
inline constexpr std::string_view kAppsV1 = "apps/v1";
inline constexpr std::string_view kSnapshotV1 = "snapshot.storage.k8s.io/v1";
inline constexpr std::string_view kGroupSnapshotV1 = "groupsnapshot.storage.k8s.io/v1";

}  // namespace csinative::apis
