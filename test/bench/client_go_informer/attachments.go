// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"hash/crc32"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
)

// What the benchmark of csi-attacher (test/cluster/lib/bench-attacher.sh) asks of a cluster. Volume and attachment i belong together.

const attachNode = "node-0001.example.com"

// As long as the names of the attach-detach controller, and told by --tag and the number.
func (o *options) attachmentName(i int) string {
	return fmt.Sprintf("csi-%08x%056d", crc32.ChecksumIEEE([]byte(o.tag)), i)
}

func (o *options) attachmentVolume(i int) string {
	return fmt.Sprintf("pvc-%08x-0000-4000-8000-%012d", crc32.ChecksumIEEE([]byte(o.tag)), i)
}

// attachments dispatches the subcommands of "attachments".
func attachments(ctx context.Context, command string, o *options) error {
	client, err := o.client("attach-detach-controller")
	if err != nil {
		return err
	}
	switch command {
	case "attachments-volumes":
		return attachmentsVolumes(ctx, client, o)
	case "attachments-attach":
		return attachmentsAttach(ctx, client, o)
	case "attachments-detach":
		return attachmentsDetach(ctx, client, o)
	case "attachments-fill":
		return attachmentsFill(ctx, client, o)
	case "attachments-empty":
		return o.empty(ctx, "volumeattachments", "persistentvolumes")
	}
	return fmt.Errorf("unknown command %q", command)
}

// The node, the first volume through the API, and the others as copies of it in etcd.
func attachmentsVolumes(ctx context.Context, client *kubernetes.Clientset, o *options) error {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: attachNode},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: "id-of-" + attachNode, TopologyKeys: []string{}}}}}
	if _, err := client.StorageV1().CSINodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !errors.IsAlreadyExists(err) {
		return err
	}
	mode := corev1.PersistentVolumeFilesystem
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: o.attachmentVolume(0),
			Annotations: map[string]string{
				"pv.kubernetes.io/provisioned-by":                            driver,
				"volume.kubernetes.io/provisioner-deletion-secret-name":      "",
				"volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
			},
			Finalizers: []string{"external-provisioner.volume.kubernetes.io/finalizer", "kubernetes.io/pv-protection"},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              "standard", VolumeMode: &mode,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: driver, VolumeHandle: o.attachmentVolume(0), FSType: "ext4",
				VolumeAttributes: map[string]string{"storage.kubernetes.io/csiProvisionerIdentity": "1700000000000-8081-" + driver},
			}},
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "default",
				Name: "data-database-0", UID: "6f1d0a52-5c39-4d57-a3ab-3f0e4f6c9d11", ResourceVersion: "1000"},
		},
	}
	volume, err := client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return o.writeCopies(ctx, o.count, func(i int) ([]clientv3.Op, error) {
		put, err := o.volumeCopy(volume, i)
		return []clientv3.Op{put}, err
	})
}

// Creates attachments first..first+count, at --rate a second (0: as many as can be), and waits until all are attached.
func attachmentsAttach(ctx context.Context, client *kubernetes.Clientset, o *options) error {
	return o.create(ctx, "attached", o.attachments(client), func(ctx context.Context, i int) error {
		volume := o.attachmentVolume(i)
		_, err := client.StorageV1().VolumeAttachments().Create(ctx, &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: o.attachmentName(i)},
			Spec: storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: attachNode,
				Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
		}, metav1.CreateOptions{})
		return err
	})
}

// Deletes them, and waits until all are gone.
func attachmentsDetach(ctx context.Context, client *kubernetes.Clientset, o *options) error {
	return o.remove(ctx, "detached", func(i int) error {
		return client.StorageV1().VolumeAttachments().Delete(ctx, o.attachmentName(i), metav1.DeleteOptions{})
	}, o.attachments(client))
}

// Copies of the first volume and its attachment, as csi-attacher left them, in etcd.
func attachmentsFill(ctx context.Context, client *kubernetes.Clientset, o *options) error {
	volume, err := client.CoreV1().PersistentVolumes().Get(ctx, o.attachmentVolume(0), metav1.GetOptions{})
	if err != nil {
		return err
	}
	attachment, err := client.StorageV1().VolumeAttachments().Get(ctx, o.attachmentName(0), metav1.GetOptions{})
	if err != nil {
		return err
	}
	writers := map[string]bool{}
	for _, entry := range attachment.ManagedFields {
		writers[entry.Manager] = true
	}
	if !attachment.Status.Attached || len(attachment.Finalizers) != 1 || len(volume.Finalizers) != 3 || len(writers) != 2 {
		return fmt.Errorf("the first attachment is not as csi-attacher leaves one: attached %v, finalizers %v and %v, %d writers",
			attachment.Status.Attached, attachment.Finalizers, volume.Finalizers, len(writers))
	}
	return o.writeCopies(ctx, o.count, func(i int) ([]clientv3.Op, error) {
		putVolume, err := o.volumeCopy(volume, i)
		if err != nil {
			return nil, err
		}
		copy := attachment.DeepCopy()
		copy.Name, copy.UID, copy.ResourceVersion = o.attachmentName(i), numberedUID(attachment.UID, i), ""
		name := o.attachmentVolume(i)
		copy.Spec.Source.PersistentVolumeName = &name
		value, err := storedAs(copy, schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"})
		return []clientv3.Op{putVolume, clientv3.OpPut("/registry/volumeattachments/"+copy.Name, value)}, err
	})
}

func (o *options) attachments(client *kubernetes.Clientset) followed {
	attachments := client.StorageV1().VolumeAttachments()
	first, last := o.attachmentName(o.first), o.attachmentName(o.first+o.count-1)
	return followed{
		list: listed(attachments.List), watch: attachments.Watch,
		ours: func(object runtime.Object) bool {
			name := object.(*storagev1.VolumeAttachment).Name
			return len(name) == len(first) && name >= first && name <= last
		},
		ready: func(object runtime.Object) bool { return object.(*storagev1.VolumeAttachment).Status.Attached },
	}
}

func (o *options) volumeCopy(volume *corev1.PersistentVolume, i int) (clientv3.Op, error) {
	copy := volume.DeepCopy()
	copy.Name, copy.UID, copy.ResourceVersion = o.attachmentVolume(i), numberedUID(volume.UID, i), ""
	copy.Spec.CSI.VolumeHandle = copy.Name
	copy.Spec.ClaimRef.Name = fmt.Sprintf("data-database-%d", i)
	copy.Spec.ClaimRef.UID = numberedUID(volume.Spec.ClaimRef.UID, i)
	value, err := stored(copy, "PersistentVolume")
	return clientv3.OpPut("/registry/persistentvolumes/"+copy.Name, value), err
}
