package observe

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// addresses hands out the addresses of a network, one after the other.
type addresses struct{ next netip.Addr }

func (a *addresses) take() string {
	a.next = a.next.Next()
	return a.next.String()
}

// Place gives Services, pods and endpoints of manifests the addresses that they have in pods of this package, and makes
// all pods ready: Services and the pods of headless ones are in the external network, other pods in the network of the
// destinations.
func Place(objects []client.Object) {
	// The first addresses of both networks are those of host names.
	services := addresses{netip.MustParseAddr("198.18.128.0")}
	pods := addresses{netip.MustParseAddr("10.200.128.0")}
	headless, ofPod := map[string]bool{}, map[string]string{}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			if o.Spec.ClusterIP == corev1.ClusterIPNone {
				headless[o.Namespace+"/"+o.Name] = true
			} else if o.Spec.ClusterIP != "" {
				o.Spec.ClusterIP = services.take()
				o.Spec.ClusterIPs = []string{o.Spec.ClusterIP}
			}
		case *corev1.Pod:
			if o.Status.Phase == corev1.PodPending {
				continue // of a workload with 0 replicas
			}
			o.Status.Phase, o.Status.PodIP = corev1.PodRunning, pods.take()
			o.Status.PodIPs = []corev1.PodIP{{IP: o.Status.PodIP}}
			o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			ofPod[o.Namespace+"/"+o.Name] = o.Status.PodIP
		}
	}
	for _, o := range objects {
		slice, is := o.(*discoveryv1.EndpointSlice)
		if !is {
			continue
		}
		slice.AddressType = discoveryv1.AddressTypeIPv4
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			switch address := ofPod[podBehind(slice, e)]; {
			case headless[slice.Namespace+"/"+slice.Labels[discoveryv1.LabelServiceName]]:
				e.Addresses = []string{services.take()}
			case address != "":
				e.Addresses = []string{address}
			default:
				e.Addresses = []string{pods.take()}
			}
		}
	}
}

// podBehind names the pod of an endpoint; empty for none.
func podBehind(slice *discoveryv1.EndpointSlice, e *discoveryv1.Endpoint) string {
	if e.TargetRef == nil {
		return ""
	}
	return slice.Namespace + "/" + e.TargetRef.Name
}
