package store

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Pod is the role of a pod in the mesh.
type Pod struct {
	Workload model.Key
	// Class is the sidecarClass annotation of the pod; empty if it has none.
	Class string
}

func (p Pod) compare(o Pod) int {
	return cmp.Or(p.Workload.Compare(o.Workload), strings.Compare(p.Class, o.Class))
}

// ClassesOf lists the distinct sidecarClasses of a workload's pods, sorted. A pod without the annotation has the empty
// class.
func (m *Mesh) ClassesOf(workload model.Key) []string {
	return slices.Compact(slices.Clone(m.Classes.Get(workload)))
}

// EndpointOf returns the endpoint of a pod that is an instance of a workload. A pod without an address is an endpoint
// too: its sidecar requests configuration before the pod's status has an address.
func EndpointOf(pod *corev1.Pod, workload model.Key, trustDomain string) model.Endpoint {
	account := pod.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	return model.Endpoint{
		Workload:  workload,
		Instance:  model.Instance{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)},
		Addresses: Addresses(pod),
		Identity:  model.Identity{TrustDomain: trustDomain, Namespace: pod.Namespace, Account: account},
		Ready:     ready(pod),
	}
}

// HasProxy reports whether injection added a proxy to a pod.
func HasProxy(pod *corev1.Pod) bool {
	_, injected := pod.Labels[sidecar.UUIDLabel]
	return injected
}

// Terminated reports whether the pod's phase is Succeeded or Failed. Such a pod is not an instance of a workload.
func Terminated(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Addresses lists the first address of each IP family, in the order of status.podIPs.
func Addresses(pod *corev1.Pod) []netip.Addr {
	ips := pod.Status.PodIPs
	if len(ips) == 0 && pod.Status.PodIP != "" {
		ips = []corev1.PodIP{{IP: pod.Status.PodIP}}
	}
	var out []netip.Addr
	for _, ip := range ips {
		a, err := netip.ParseAddr(ip.IP)
		if err == nil && !slices.ContainsFunc(out, func(o netip.Addr) bool { return o.Is4() == a.Is4() }) {
			out = append(out, a)
		}
	}
	return out
}

func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
