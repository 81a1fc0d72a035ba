// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"hash/crc32"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// What the benchmark of csi-provisioner (test/cluster/lib/bench-provisioner.sh) asks of a cluster.

// Told by --tag and the number.
func (o *options) claimName(i int) string {
	return fmt.Sprintf("data-%08x-%08d", crc32.ChecksumIEEE([]byte(o.tag)), i)
}

// claims dispatches the subcommands of "claims".
func claims(ctx context.Context, command string, o *options) error {
	client, err := o.client("statefulset-controller")
	if err != nil {
		return err
	}
	switch command {
	case "claims-create":
		return claimsCreate(ctx, client, o)
	case "claims-delete":
		return claimsDelete(ctx, client, o)
	case "claims-empty":
		return o.empty(ctx, "persistentvolumeclaims", "persistentvolumes", "events")
	}
	return fmt.Errorf("unknown command %q", command)
}

// Creates claims first..first+count of class "bench", at --rate a second (0: as many as can be), and waits until all are bound.
func claimsCreate(ctx context.Context, client *kubernetes.Clientset, o *options) error {
	class, mode := "bench", corev1.PersistentVolumeFilesystem
	return o.create(ctx, "bound", o.claims(client), func(ctx context.Context, i int) error {
		_, err := client.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: o.claimName(i), Labels: map[string]string{"app": "database"},
				Annotations: map[string]string{"example.com/owner": "team-databases"}},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				StorageClassName: &class, VolumeMode: &mode,
			},
		}, metav1.CreateOptions{})
		return err
	})
}

// Deletes them, and waits until all are gone, and their volumes.
func claimsDelete(ctx context.Context, client *kubernetes.Clientset, o *options) error {
	return o.remove(ctx, "deleted", func(i int) error {
		return client.CoreV1().PersistentVolumeClaims(namespace).Delete(ctx, o.claimName(i), metav1.DeleteOptions{})
	}, o.claims(client), o.volumes(client))
}

func (o *options) isOurClaim(name string) bool {
	first, last := o.claimName(o.first), o.claimName(o.first+o.count-1)
	return len(name) == len(first) && name >= first && name <= last
}

func (o *options) claims(client *kubernetes.Clientset) followed {
	claims := client.CoreV1().PersistentVolumeClaims(namespace)
	return followed{
		list: listed(claims.List), watch: claims.Watch,
		ours: func(object runtime.Object) bool { return o.isOurClaim(object.(*corev1.PersistentVolumeClaim).Name) },
		ready: func(object runtime.Object) bool {
			return object.(*corev1.PersistentVolumeClaim).Status.Phase == corev1.ClaimBound
		},
	}
}

func (o *options) volumes(client *kubernetes.Clientset) followed {
	volumes := client.CoreV1().PersistentVolumes()
	return followed{
		list: listed(volumes.List), watch: volumes.Watch,
		ours: func(object runtime.Object) bool {
			claim := object.(*corev1.PersistentVolume).Spec.ClaimRef
			return claim != nil && claim.Namespace == namespace && o.isOurClaim(claim.Name)
		},
		ready: func(object runtime.Object) bool { return true },
	}
}
