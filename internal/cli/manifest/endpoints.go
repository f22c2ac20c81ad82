package manifest

import (
	"encoding/binary"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// firstEndpoint is the number of the first assumed address of a pod, after those of Services.
const firstEndpoint = 1 << 24

// firstMember is the number of the first assumed address of a member of a StatefulSet, after those of pods.
const firstMember = 1 << 25

// endpoints adds an EndpointSlice for each Service that selects pods of the files, as if all pods were ready. A
// workload with 0 replicas has none.
func (s *Set) endpoints() {
	var pods []*corev1.Pod
	var services []*corev1.Service
	has := map[string]bool{}
	for _, o := range s.Objects {
		switch o := o.(type) {
		case *corev1.Pod:
			pods = append(pods, o)
		case *corev1.Service:
			services = append(services, o)
		case *discoveryv1.EndpointSlice:
			has[o.Namespace+"/"+o.Labels[discoveryv1.LabelServiceName]] = true
		}
	}
	for _, service := range services {
		if len(service.Spec.Selector) == 0 || has[service.Namespace+"/"+service.Name] {
			continue
		}
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: service.Namespace, Name: service.Name + "-assumed",
				Labels: map[string]string{discoveryv1.LabelServiceName: service.Name},
			},
			AddressType: discoveryv1.AddressTypeIPv6,
		}
		ready := true
		for i, pod := range pods {
			if pod.Namespace != service.Namespace || NoReplicas(pod) ||
				!labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
				continue
			}
			if slice.Ports == nil {
				slice.Ports = endpointPorts(service, pod)
			}
			a := assumedRange.Addr().As16()
			binary.BigEndian.PutUint32(a[12:], uint32(firstEndpoint+i))
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{netip.AddrFrom16(a).String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			})
		}
		if len(slice.Endpoints) > 0 {
			s.Objects = append(s.Objects, slice)
		}
	}
}

// endpointPorts are the ports of a pod behind those of a Service. A named port that the pod does not have is left out.
func endpointPorts(service *corev1.Service, pod *corev1.Pod) []discoveryv1.EndpointPort {
	var out []discoveryv1.EndpointPort
	for _, p := range service.Spec.Ports {
		number := p.TargetPort.IntVal
		if p.TargetPort == (intstr.IntOrString{}) {
			number = p.Port
		}
		for _, c := range pod.Spec.Containers {
			for _, of := range c.Ports {
				if p.TargetPort.Type == intstr.String && of.Name == p.TargetPort.StrVal {
					number = of.ContainerPort
				}
			}
		}
		if number != 0 {
			out = append(out, discoveryv1.EndpointPort{Name: &p.Name, Port: &number})
		}
	}
	return out
}
