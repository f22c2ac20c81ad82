package aggregate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Annotations of the default StorageClass.
const (
	defaultStorageClass    = "storageclass.kubernetes.io/is-default-class"
	oldDefaultStorageClass = "storageclass.beta.kubernetes.io/is-default-class"
)

var storageClassPrinter = printed("Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age",
	func(c *storagev1.StorageClass) []any {
		reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
		if c.ReclaimPolicy != nil {
			reclaim = *c.ReclaimPolicy
		}
		if c.VolumeBindingMode != nil {
			binding = *c.VolumeBindingMode
		}
		return []any{
			withDefault(c.Name, c.Annotations, defaultStorageClass, oldDefaultStorageClass), c.Provisioner, string(reclaim),
			string(binding), orZero(c.AllowVolumeExpansion), age(c.CreationTimestamp),
		}
	})

var attachmentPrinter = printed("Name,Attacher,PV,Node,Attached,Age", func(a *storagev1.VolumeAttachment) []any {
	return []any{
		a.Name, a.Spec.Attacher, orZero(a.Spec.Source.PersistentVolumeName), a.Spec.NodeName, a.Status.Attached,
		age(a.CreationTimestamp),
	}
})

var csiNodePrinter = printed("Name,Drivers,Age", func(n *storagev1.CSINode) []any {
	return []any{n.Name, len(n.Spec.Drivers), age(n.CreationTimestamp)}
})

var csiDriverPrinter = printed(
	"Name,AttachRequired,PodInfoOnMount,StorageCapacity,TokenRequests,RequiresRepublish,Modes,Age",
	func(d *storagev1.CSIDriver) []any {
		var modes, audiences []string
		for _, m := range d.Spec.VolumeLifecycleModes {
			modes = append(modes, string(m))
		}
		tokens := "<unset>"
		if d.Spec.TokenRequests != nil {
			for _, t := range d.Spec.TokenRequests {
				audiences = append(audiences, t.Audience)
			}
			tokens = strings.Join(audiences, ",")
		}
		return []any{
			d.Name, d.Spec.AttachRequired == nil || *d.Spec.AttachRequired, orZero(d.Spec.PodInfoOnMount),
			orZero(d.Spec.StorageCapacity), tokens, orZero(d.Spec.RequiresRepublish), orNone(strings.Join(modes, ",")),
			age(d.CreationTimestamp),
		}
	})

var csiCapacityPrinter = printed("Name,StorageClassName,Capacity", func(c *storagev1.CSIStorageCapacity) []any {
	capacity := "<unset>"
	if c.Capacity != nil {
		capacity = c.Capacity.String()
	}
	return []any{c.Name, c.StorageClassName, capacity}
})
