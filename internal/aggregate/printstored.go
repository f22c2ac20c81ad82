package aggregate

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

var configMapPrinter = printed("Name,Data,Age", func(c *corev1.ConfigMap) []any {
	return []any{c.Name, len(c.Data) + len(c.BinaryData), age(c.CreationTimestamp)}
})

var secretPrinter = printed("Name,Type,Data,Age", func(s *corev1.Secret) []any {
	return []any{s.Name, string(s.Type), len(s.Data), age(s.CreationTimestamp)}
})

var namespacePrinter = printed("Name,Status,Age", func(n *corev1.Namespace) []any {
	return []any{n.Name, string(n.Status.Phase), age(n.CreationTimestamp)}
})

var leasePrinter = printed("Name,Holder,Age", func(l *coordinationv1.Lease) []any {
	return []any{l.Name, orZero(l.Spec.HolderIdentity), age(l.CreationTimestamp)}
})

var claimPrinter = printed(
	"Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age|VolumeMode",
	func(c *corev1.PersistentVolumeClaim) []any {
		status := string(c.Status.Phase)
		if c.DeletionTimestamp != nil {
			status = "Terminating"
		}
		capacity, modes := "", ""
		if c.Spec.VolumeName != "" {
			modes, capacity = accessModes(c.Status.AccessModes), c.Status.Capacity.Storage().String()
		}
		return []any{
			c.Name, status, c.Spec.VolumeName, capacity, modes, storageClass(c.Annotations, orZero(c.Spec.StorageClassName)),
			unset(c.Spec.VolumeAttributesClassName), age(c.CreationTimestamp), unset((*string)(c.Spec.VolumeMode)),
		}
	})

var volumePrinter = printed(
	"Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age|VolumeMode",
	func(v *corev1.PersistentVolume) []any {
		claim := ""
		if ref := v.Spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		status := string(v.Status.Phase)
		if v.DeletionTimestamp != nil {
			status = "Terminating"
		}
		return []any{
			v.Name, v.Spec.Capacity.Storage().String(), accessModes(v.Spec.AccessModes),
			string(v.Spec.PersistentVolumeReclaimPolicy), status, claim, storageClass(v.Annotations, v.Spec.StorageClassName),
			unset(v.Spec.VolumeAttributesClassName), v.Status.Reason, age(v.CreationTimestamp),
			unset((*string)(v.Spec.VolumeMode)),
		}
	})

// storageClass prefers the annotation of old versions, as kube-apiserver does.
func storageClass(annotations map[string]string, name string) string {
	if old, ok := annotations[corev1.BetaStorageClassAnnotation]; ok {
		return old
	}
	return name
}

func unset(p *string) string {
	if p == nil || *p == "" {
		return "<unset>"
	}
	return *p
}
