// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	namespace = "bench"
	driver    = "bench.csi-native.io"
)

// A bound claim and its volume as the API server left them after two writers each. All others are copies of them under other names.
type pair struct {
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
}

// The first pair, through the API: the one who wants the volume and the one who binds it are two writers with fields of their own.
func createFirst(ctx context.Context, user, controller *kubernetes.Clientset) error {
	_, err := user.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		return err
	}
	mode, class := corev1.PersistentVolumeFilesystem, "standard"
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "data-database-0",
			Labels:      map[string]string{"app": "database"},
			Annotations: map[string]string{"example.com/owner": "team-databases"},
			Finalizers:  []string{"snapshot.storage.kubernetes.io/pvc-as-source-protection"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
			StorageClassName: &class, VolumeMode: &mode,
		},
	}
	claim, err = user.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, claim, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pvc-" + string(claim.UID),
			Annotations: map[string]string{
				"pv.kubernetes.io/provisioned-by":                            driver,
				"volume.kubernetes.io/provisioner-deletion-secret-name":      "bench-secret",
				"volume.kubernetes.io/provisioner-deletion-secret-namespace": "kube-system",
			},
			Finalizers: []string{"external-provisioner.volume.kubernetes.io/finalizer"},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      claim.Spec.Resources.Requests,
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              class, VolumeMode: &mode,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: driver, VolumeHandle: "vol-0123456789abcdef-00000000", FSType: "ext4",
				VolumeAttributes: map[string]string{"storage.kubernetes.io/csiProvisionerIdentity": "1700000000000-8081-" + driver},
			}},
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: namespace,
				Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "topology.bench.csi-native.io/zone",
					Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-1"}}}}}}},
		},
	}
	volume, err = user.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	volume.Annotations["pv.kubernetes.io/bound-by-controller"] = "yes"
	volume.Annotations["example.com/backup"] = "daily"
	volume.Annotations["example.com/cost-centre"] = "4711"
	volume, err = controller.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	volume.Status.Phase = corev1.VolumeBound
	if _, err = controller.CoreV1().PersistentVolumes().UpdateStatus(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return err
	}
	claim.Spec.VolumeName = volume.Name
	claim.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
	claim.Annotations["pv.kubernetes.io/bound-by-controller"] = "yes"
	claim.Annotations["volume.beta.kubernetes.io/storage-provisioner"] = driver
	claim.Annotations["volume.kubernetes.io/storage-provisioner"] = driver
	claim.Annotations["volume.kubernetes.io/selected-node"] = "node-0001.example.com"
	claim, err = controller.CoreV1().PersistentVolumeClaims(namespace).Update(ctx, claim, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: claim.Spec.AccessModes,
		Capacity: claim.Spec.Resources.Requests}
	_, err = controller.CoreV1().PersistentVolumeClaims(namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	return err
}

// The first pair as it is stored, and whether it is what the benchmark promises.
func readFirst(ctx context.Context, client *kubernetes.Clientset) (*pair, error) {
	claim, err := client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, "data-database-0", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	volume, err := client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	for _, object := range []metav1.Object{claim, volume} {
		writers := map[string]bool{}
		for _, entry := range object.GetManagedFields() {
			writers[entry.Manager] = true
		}
		if len(object.GetAnnotations()) != 6 || len(object.GetFinalizers()) != 2 || len(writers) != 2 {
			return nil, fmt.Errorf("%s has %d annotations, %d finalizers and %d writers", object.GetName(), len(object.GetAnnotations()),
				len(object.GetFinalizers()), len(writers))
		}
	}
	return &pair{claim, volume}, nil
}

// Pair number i, of its own: 0 is the first one itself. change: other than nothing makes it differ from the pair as it was made.
func (p *pair) numbered(i int, change string) *pair {
	claim, volume := p.claim.DeepCopy(), p.volume.DeepCopy()
	if i > 0 {
		claim.Name = fmt.Sprintf("data-database-%d", i)
		claim.UID = numberedUID(p.claim.UID, i)
		volume.Name = "pvc-" + string(claim.UID)
		volume.UID = numberedUID(p.volume.UID, i)
		claim.Spec.VolumeName = volume.Name
		volume.Spec.ClaimRef.Name = claim.Name
		volume.Spec.ClaimRef.UID = claim.UID
		volume.Spec.CSI.VolumeHandle = fmt.Sprintf("vol-0123456789abcdef-%08d", i)
	}
	if change != "" {
		claim.Annotations["example.com/owner"] = change
		volume.Annotations["example.com/backup"] = change
	}
	// In etcd an object does not say its version: it is the revision of its key.
	claim.ResourceVersion, volume.ResourceVersion = "", ""
	return &pair{claim, volume}
}

func numberedUID(uid types.UID, i int) types.UID {
	return types.UID(string(uid)[:len(uid)-8] + fmt.Sprintf("%08x", i))
}

// key and stored bytes of an object, as the API server writes them.
func (p *pair) claimEntry() (string, string, error) {
	value, err := stored(p.claim, "PersistentVolumeClaim")
	return "/registry/persistentvolumeclaims/" + p.claim.Namespace + "/" + p.claim.Name, value, err
}

func (p *pair) volumeEntry() (string, string, error) {
	value, err := stored(p.volume, "PersistentVolume")
	return "/registry/persistentvolumes/" + p.volume.Name, value, err
}

var serializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

func stored(object runtime.Object, kind string) (string, error) {
	return storedAs(object, schema.GroupVersionKind{Version: "v1", Kind: kind})
}

func storedAs(object runtime.Object, kind schema.GroupVersionKind) (string, error) {
	object.GetObjectKind().SetGroupVersionKind(kind)
	var out bytes.Buffer
	err := serializer.Encode(object, &out)
	return out.String(), err
}

// The same for an object of which nothing but the metadata is known.
func storedMetadata(object *metav1.PartialObjectMetadata, kind string) string {
	raw, err := object.Marshal()
	if err != nil {
		panic(err)
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	bytes, err := unknown.Marshal()
	if err != nil {
		panic(err)
	}
	return "k8s\x00" + string(bytes)
}

func stamp() string {
	return strings.TrimSuffix(time.Now().UTC().Format("20060102T150405.000"), "Z")
}
