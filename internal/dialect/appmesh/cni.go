package appmesh

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/sidecar"
)

// fargateLabel is the label of pods on Fargate, which do not allow an init container with NET_ADMIN.
const fargateLabel = "eks.amazonaws.com/fargate-profile"

// usesCNI reports whether a CNI plugin sets the packet rules of a pod.
func usesCNI(pod *corev1.Pod) bool {
	_, fargate := pod.Labels[fargateLabel]
	return fargate || strings.EqualFold(pod.Annotations[prefix+"appmeshCNI"], "enabled")
}

const cniWarning = "the packet rules of the pod are set by a CNI plugin, which must read the annotations of App Mesh; DNS questions are not " +
	"captured, so that only names with a Kubernetes Service or another DNS record resolve"

// cniAnnotations are the annotations with which a CNI plugin sets the packet rules, as in App Mesh. It also reads the
// annotation ipv6 of the user.
func cniAnnotations(o dialect.PodOptions) map[string]string {
	return map[string]string{
		prefix + "ports":              joinNumbers(o.InboundPorts),
		prefix + "egressIgnoredIPs":   strings.Join(o.OutboundIPExclusions, ","),
		prefix + "egressIgnoredPorts": joinNumbers(o.OutboundPortExclusions),
		prefix + "proxyEgressPort":    strconv.Itoa(sidecar.OutboundPort),
		prefix + "proxyIngressPort":   strconv.Itoa(sidecar.InboundPort),
		prefix + "ignoredUID":         strconv.Itoa(sidecar.UID),
		injectionKey:                  "enabled",
	}
}

func joinNumbers(all []int) string {
	var out []string
	for _, n := range all {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ",")
}
