package manifest

import (
	"encoding/binary"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// assumedRange is the documentation range (RFC 3849). No network has these addresses.
var assumedRange = netip.MustParsePrefix("2001:db8::/32")

// Assumed reports whether an address stands for the one that the cluster assigns to a Service of the files.
func Assumed(a netip.Addr) bool { return assumedRange.Contains(a) }

// addressMembers gives each member of a StatefulSet an address: its name leads to it.
func (s *Set) addressMembers() {
	next := uint32(firstMember)
	for _, o := range s.Objects {
		pod, is := o.(*corev1.Pod)
		if !is || !strings.HasPrefix(string(pod.UID), "StatefulSet ") || NoReplicas(pod) {
			continue
		}
		next++
		a := assumedRange.Addr().As16()
		binary.BigEndian.PutUint32(a[12:], next)
		pod.Status.PodIPs = []corev1.PodIP{{IP: netip.AddrFrom16(a).String()}}
	}
}

// address gives each Service an address that the cluster would assign one: the mesh tells services apart by their
// addresses. Headless Services and those of type ExternalName have none.
func (s *Set) address() {
	next := uint32(0)
	for _, o := range s.Objects {
		service, is := o.(*corev1.Service)
		if !is || service.Spec.ClusterIP != "" || len(service.Spec.ClusterIPs) > 0 ||
			service.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		next++
		a := assumedRange.Addr().As16()
		binary.BigEndian.PutUint32(a[12:], next)
		service.Spec.ClusterIP = netip.AddrFrom16(a).String()
	}
}
