package store

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// EndpointOf returns the endpoint of a pod that is an instance of a workload. A pod without an address is an endpoint
// too: its sidecar requests configuration before the pod's status has an address.
func EndpointOf(pod *Pod, workload model.Key, trustDomain string) model.Endpoint {
	of := pod.Settings()
	return model.Endpoint{
		Workload:  workload,
		Instance:  model.Instance{Namespace: of.Namespace, Name: pod.Name, UID: pod.UID},
		Addresses: pod.Addresses(),
		Identity: model.Identity{
			TrustDomain: trustDomain, Namespace: of.Namespace, Account: cmp.Or(of.ServiceAccount, "default"),
		},
		Ready: pod.Ready,
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

// Ready reports whether a pod is ready and not being deleted.
func Ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
