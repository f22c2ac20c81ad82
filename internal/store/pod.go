package store

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Pod is the part of a pod that rules and the status writer read. Most objects of a cluster are pods, and a corev1.Pod
// has more than 1000 bytes even if it is empty. It is immutable. It is a client.Object, so that caches and events have
// pods like other objects; metadata that it does not have is empty, the deletion timestamp too.
type Pod struct {
	readOnlyMetadata
	Name   string
	UID    string
	Labels Labels
	// Ready is true if the pod is ready and not being deleted.
	Ready bool
	// Terminated is true if the phase is Succeeded or Failed. Such a pod is not an instance of a workload.
	Terminated bool
	// Deleting is true if the pod has a deletion timestamp.
	Deleting bool
	// families is the number of addresses.
	families  uint8
	addresses [2]netip.Addr
	version   string
	shared    unique.Handle[PodSettings]
}

// PodSettings are values that many pods have in common.
type PodSettings struct {
	Namespace, ServiceAccount string
	// Class, DNS and Bypass are the annotations that injection writes.
	Class, DNS, Bypass string
	// Dialect is the value of sidecar.DialectAnnotation.
	Dialect string
	// Gates are the readiness gates, each with the status of its condition.
	Gates Labels
	// Ports are the numbers of named TCP ports.
	Ports Labels
	// Containers are the names of the containers, each with an empty value.
	Containers Labels
}

// NewPod returns the part of a pod.
func NewPod(pod *corev1.Pod) *Pod {
	out := &Pod{
		Name: pod.Name, UID: string(pod.UID), Labels: NewLabels(pod.Labels), Ready: Ready(pod),
		Terminated: Terminated(pod), Deleting: pod.DeletionTimestamp != nil, version: pod.ResourceVersion,
		shared: unique.Make(PodSettings{
			pod.Namespace, pod.Spec.ServiceAccountName, pod.Annotations[sidecar.ClassAnnotation],
			pod.Annotations[sidecar.DNSAnnotation], pod.Annotations[sidecar.BypassAnnotation],
			pod.Annotations[sidecar.DialectAnnotation], gates(pod), namedPorts(pod), containers(pod),
		}),
	}
	out.families = uint8(copy(out.addresses[:], Addresses(pod)))
	return out
}

// gates returns the readiness gates of a pod.
func gates(pod *corev1.Pod) Labels {
	out := map[string]string{}
	for _, gate := range pod.Spec.ReadinessGates {
		out[string(gate.ConditionType)] = ""
	}
	for _, c := range pod.Status.Conditions {
		if _, is := out[string(c.Type)]; is {
			out[string(c.Type)] = string(c.Status)
		}
	}
	return NewLabels(out)
}

// namedPorts returns the numbers of the named TCP ports of a pod.
func namedPorts(pod *corev1.Pod) Labels {
	out := map[string]string{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, p := range c.Ports {
			if p.Name != "" && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
				out[p.Name] = strconv.Itoa(int(p.ContainerPort))
			}
		}
	}
	return NewLabels(out)
}

// containers returns the names of the containers of a pod.
func containers(pod *corev1.Pod) Labels {
	out := map[string]string{}
	for _, c := range pod.Spec.Containers {
		out[c.Name] = ""
	}
	return NewLabels(out)
}

// Settings returns the values that it has in common with other pods.
func (p *Pod) Settings() PodSettings { return p.shared.Value() }

// Namespace returns the namespace.
func (p *Pod) Namespace() string { return p.shared.Value().Namespace }

// Addresses lists the first address of each IP family. The list must not be modified.
func (p *Pod) Addresses() []netip.Addr {
	if p.families == 0 {
		return nil
	}
	return p.addresses[:p.families:p.families]
}

// Of reports whether a pod can be an instance of a workload of a dialect: its sidecar is of no other one.
func (p *Pod) Of(dialect string) bool {
	of := p.Settings().Dialect
	return of == "" || of == dialect
}

// HasProxy reports whether injection added a proxy.
func (p *Pod) HasProxy() bool { return p.Labels.Has(sidecar.UUIDLabel) }

// Equal reports whether both pods are equal except for the resourceVersion.
func (p *Pod) Equal(o *Pod) bool {
	a, b := *p, *o
	a.version, b.version = "", ""
	return a == b
}

// SubjectRef implements Subject.
func (p *Pod) SubjectRef() model.ObjectRef {
	return model.ObjectRef{Kind: "Pod", Namespace: p.Namespace(), Name: p.Name}
}

// GetNamespace implements client.Object, as the methods below.
func (p *Pod) GetNamespace() string { return p.Namespace() }

// GetName returns the name.
func (p *Pod) GetName() string { return p.Name }

// GetUID returns the UID.
func (p *Pod) GetUID() types.UID { return types.UID(p.UID) }

// GetResourceVersion returns the resourceVersion, which informers compare.
func (p *Pod) GetResourceVersion() string { return p.version }

// GetLabels returns the labels as a map, which is made for each call.
func (p *Pod) GetLabels() map[string]string { return maps.Collect(p.Labels.All()) }

// GetObjectKind returns an empty kind, as that of other objects of typed clients.
func (p *Pod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the pod: it is immutable.
func (p *Pod) DeepCopyObject() runtime.Object { return p }
