// Package parcel is a small second dialect. Tests run it beside App Mesh.
//
// In: VirtualServices of group parcel.example.com, Namespaces and Pods. Out: for each VirtualService, a workload of
// the mesh parcel, which selects pods by their label app, and a service that every other workload of the mesh can
// reach. A Namespace becomes a member by its label.
package parcel

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupVersion contains the only kind of the dialect. App Mesh has a kind of the same name.
var groupVersion = schema.GroupVersion{Group: "parcel.example.com", Version: "v1"}

const (
	kind = "VirtualService"
	// memberLabel makes a Namespace a member of the mesh.
	memberLabel = "parcel.example.com/member"
	// finalizer and gate belong to the former controller of this API.
	finalizer = "parcel.example.com/depot"
	gate      = "parcel.example.com/registered"
	// nodeTag is the statistics tag of this dialect.
	nodeTag = "parcel.sender"
)

// VirtualService is an application: a pod label, a port and a host.
type VirtualService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitzero"`
}

// Spec is the desired state.
type Spec struct {
	// App is the value of the pod label app.
	App string `json:"app"`
	// Port is from 1 to 65535; 0 means the Helm value parcel.port.
	Port int32 `json:"port,omitempty"`
	// Host is the host name of the service; empty means the name of the Service with the same name and namespace.
	Host string `json:"host,omitempty"`
}

// Status is the observed state.
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

// VirtualServiceList is a list of VirtualServices.
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
