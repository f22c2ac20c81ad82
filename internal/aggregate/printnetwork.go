package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// maxPrinted is how many ports, endpoints or hosts a cell shows.
const maxPrinted = 3

// firstOf joins the first elements, and tells how many follow.
func firstOf(all []string, none string) string {
	switch {
	case len(all) == 0:
		return none
	case len(all) > maxPrinted:
		return fmt.Sprintf("%s + %d more...", strings.Join(all[:maxPrinted], ","), len(all)-maxPrinted)
	}
	return strings.Join(all, ",")
}

var servicePrinter = printed("Name,Type,Cluster-IP,External-IP,Port(s),Age|Selector", func(s *corev1.Service) []any {
	address := s.Spec.ClusterIP
	if len(s.Spec.ClusterIPs) > 0 {
		address = s.Spec.ClusterIPs[0]
	}
	return []any{
		s.Name, string(s.Spec.Type), orNone(address), externalAddress(s), servicePorts(s.Spec.Ports),
		age(s.CreationTimestamp), formatLabels(s.Spec.Selector),
	}
})

func externalAddress(s *corev1.Service) string {
	external := strings.Join(s.Spec.ExternalIPs, ",")
	switch s.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		set := map[string]bool{}
		for _, i := range s.Status.LoadBalancer.Ingress {
			if i.IP != "" {
				set[i.IP] = true
			} else if i.Hostname != "" {
				set[i.Hostname] = true
			}
		}
		balanced := strings.Join(slices.Sorted(maps.Keys(set)), ",")
		switch {
		case external != "" && balanced != "":
			return balanced + "," + external
		case external+balanced == "":
			return "<pending>"
		}
		return balanced + external
	}
	return orNone(external)
}

func servicePorts(ports []corev1.ServicePort) string {
	var out []string
	for _, p := range ports {
		text := strconv.Itoa(int(p.Port))
		if p.NodePort > 0 {
			text += ":" + strconv.Itoa(int(p.NodePort))
		}
		out = append(out, text+"/"+string(p.Protocol))
	}
	return orNone(strings.Join(out, ","))
}

var endpointSlicePrinter = printed("Name,AddressType,Ports,Endpoints,Age", func(s *discoveryv1.EndpointSlice) []any {
	var ports, addresses []string
	for _, p := range s.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return []any{
		s.Name, string(s.AddressType), firstOf(ports, "<unset>"), firstOf(addresses, "<unset>"), age(s.CreationTimestamp),
	}
})

var ingressPrinter = printed("Name,Class,Hosts,Address,Ports,Age", func(i *networkingv1.Ingress) []any {
	var hosts []string
	for _, r := range i.Spec.Rules {
		if r.Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	var addresses []string
	for _, one := range i.Status.LoadBalancer.Ingress {
		if one.IP != "" {
			addresses = append(addresses, one.IP)
		} else if one.Hostname != "" {
			addresses = append(addresses, one.Hostname)
		}
	}
	ports := "80"
	if len(i.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return []any{
		i.Name, orNone(orZero(i.Spec.IngressClassName)), firstOf(hosts, "*"), strings.Join(addresses, ","), ports,
		age(i.CreationTimestamp),
	}
})
