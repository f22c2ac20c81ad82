// Package parcel is a small second dialect, written as third parties would write one. Tests run it beside App Mesh.
//
// In: VirtualServices of group parcel.example.com, Namespaces and Pods. Out: for each VirtualService a workload of the
// mesh parcel, which the pods with its label app belong to, and a service by which every other workload of the mesh
// reaches it. A Namespace takes part by its label.
package parcel

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupVersion is that of the dialect's only kind, whose name App Mesh has too.
var groupVersion = schema.GroupVersion{Group: "parcel.example.com", Version: "v1"}

const (
	kind = "VirtualService"
	// memberLabel on a Namespace makes it a part of the mesh.
	memberLabel = "parcel.example.com/member"
	// finalizer and gate are those of the controller that used to run this API.
	finalizer = "parcel.example.com/depot"
	gate      = "parcel.example.com/registered"
	// nodeTag is the statistics tag that users of this API know.
	nodeTag = "parcel.sender"
)

// VirtualService is an application: the pods with a label, a port, and the name by which others call it.
type VirtualService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitzero"`
}

// Spec is what users write.
type Spec struct {
	// App is the value of the label app of the pods.
	App string `json:"app"`
	// Port is from 1 to 65535; 0 means the chart's value parcel.port.
	Port int32 `json:"port,omitempty"`
	// Host is the name that clients dial; empty means that of the Service of the same name and namespace.
	Host string `json:"host,omitempty"`
}

// Status is what became of it.
type Status struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (v *VirtualService) DeepCopyObject() runtime.Object {
	out := &VirtualService{TypeMeta: v.TypeMeta, Spec: v.Spec}
	v.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	for i := range v.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *v.Status.Conditions[i].DeepCopy())
	}
	return out
}

// VirtualServiceList is a list of them.
type VirtualServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []VirtualService `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *VirtualServiceList) DeepCopyObject() runtime.Object {
	out := &VirtualServiceList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*VirtualService))
	}
	return out
}
