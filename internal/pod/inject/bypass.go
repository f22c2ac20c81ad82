package inject

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// hostNetworkBypass is the bypass of a pod in the network of its node, whose packet rules injection does not change.
const hostNetworkBypass = "spec.hostNetwork is true: the pod gets no sidecar"

// bypasses lists how connections of a pod of a workload bypass its sidecar, though injection is enabled. Pods of
// gateways have no capture.
func (w *Webhook) bypasses(pod *corev1.Pod, workload model.Workload, o dialect.PodOptions) []string {
	if workload.Role == model.RoleGateway {
		return nil
	}
	out := slices.Clone(o.Bypasses)
	switch {
	case o.CNI:
	case hasContainer(pod, captureContainer):
		if !w.injectedCapture(pod, o) {
			out = append(out, fmt.Sprintf("container %s is not the one that injection adds: it decides what is captured; "+
				"rename or remove it", captureContainer))
		}
	case w.Mesh.Sidecar.Bypass != sidecar.BypassRefuse && injectedProxyless(pod): // the application is its own proxy
	case alreadyInjected(pod):
		out = append(out, fmt.Sprintf("label %s is set, but there is no container %s: nothing is captured; remove the label",
			sidecar.UUIDLabel, captureContainer))
	}
	return out
}

// alreadyInjected reports whether a pod has the label and the agent of a former injection.
func alreadyInjected(pod *corev1.Pod) bool {
	_, labeled := pod.Labels[sidecar.UUIDLabel]
	return labeled && Agent(pod) != nil
}

// injectedCapture reports whether the capture container of a pod does what that of a former injection does. Other
// webhooks may change its image.
func (w *Webhook) injectedCapture(pod *corev1.Pod, o dialect.PodOptions) bool {
	at := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == captureContainer })
	if at < 0 || !alreadyInjected(pod) {
		return false
	}
	is := pod.Spec.InitContainers[at]
	env := slices.DeleteFunc(slices.Clone(is.Env), func(e corev1.EnvVar) bool { // they do not change what is captured
		return e.Name == captureAppIPs || e.Name == captureProxyPorts
	})
	return slices.ContainsFunc([]bool{true, false}, func(dns bool) bool {
		want := captureInit(&sidecar.MeshConfig{}, w.PullPolicy, o, dns)
		return slices.Equal(is.Command, want.Command) && len(is.Args) == 0 && is.RestartPolicy == nil &&
			len(is.EnvFrom) == 0 && reflect.DeepEqual(env, want.Env)
	})
}

// refuse returns the denial of a pod that bypasses its sidecar, if the settings of the mesh refuse it.
func (w *Webhook) refuse(pod *corev1.Pod, bypasses []string) error {
	if len(bypasses) == 0 || w.Mesh.Sidecar.Bypass != sidecar.BypassRefuse {
		return nil
	}
	return fmt.Errorf("pod %s bypasses the mesh, which osm.bypass of the Helm values refuses: %s", podName(pod),
		strings.Join(bypasses, "; "))
}

// markBypass sets the annotation of the pod from which its workload gets a finding. A value of the user is replaced.
func markBypass(pod *corev1.Pod, bypasses []string) {
	if len(bypasses) == 0 {
		delete(pod.Annotations, sidecar.BypassAnnotation)
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[sidecar.BypassAnnotation] = strings.Join(bypasses, "; ")
}

// bypassWarnings are the warnings about bypasses.
func bypassWarnings(bypasses []string) []string {
	var out []string
	for _, b := range bypasses {
		out = append(out, "bypass of the mesh: "+b)
	}
	return out
}

// captureCapabilities are the capabilities with which a container becomes the user of the proxy or changes
// packet rules.
var captureCapabilities = []corev1.Capability{"ALL", "NET_ADMIN", "SETUID"}

// uncapturedUsers returns warnings about containers that explicitly may evade capture. Containers that run as the user
// of their image are not listed: it is not known here whether that is root.
func uncapturedUsers(pod *corev1.Pod, w model.Workload, o dialect.PodOptions) []string {
	if w.Role == model.RoleGateway {
		return nil
	}
	var out []string
	for _, c := range capturedContainers(pod, o) {
		if what := evades(c.SecurityContext, pod.Spec.SecurityContext); what != "" {
			out = append(out, fmt.Sprintf("container %s may bypass the mesh: %s", c.Name, what))
		}
	}
	return out
}

// capturedContainers returns the containers that injection does not add, and that run while there is capture.
func capturedContainers(pod *corev1.Pod, o dialect.PodOptions) []corev1.Container {
	all := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil { // the others end before there is capture
			all = append(all, c)
		}
	}
	return slices.DeleteFunc(all, func(c corev1.Container) bool {
		added := func(by corev1.Container) bool { return by.Name == c.Name }
		return hasAgent(&c) || alreadyInjected(pod) && slices.ContainsFunc(o.Containers, added)
	})
}

// ProxyUsers returns the names of the containers of a pod that explicitly run as the user of the proxy, whose
// connections are not captured, and reports whether there are others.
func ProxyUsers(pod *corev1.Pod, o dialect.PodOptions) (names []string, others bool) {
	for _, c := range capturedContainers(pod, o) {
		if user := userOf(c.SecurityContext, pod.Spec.SecurityContext); user != nil && *user == sidecar.UID {
			names = append(names, c.Name)
		} else {
			others = true
		}
	}
	return names, others
}

// userOf returns the user of a container; nil if its image decides.
func userOf(own *corev1.SecurityContext, ofPod *corev1.PodSecurityContext) *int64 {
	switch {
	case own != nil && own.RunAsUser != nil:
		return own.RunAsUser
	case ofPod != nil:
		return ofPod.RunAsUser
	}
	return nil
}

// evades says which explicit setting of a container lets it evade capture, or returns "".
func evades(own *corev1.SecurityContext, ofPod *corev1.PodSecurityContext) string {
	user := userOf(own, ofPod)
	if own == nil {
		own = &corev1.SecurityContext{}
	}
	switch {
	case user != nil && *user == sidecar.UID:
		return fmt.Sprintf("it runs as user %d, the user of the proxy, whose connections are not captured", sidecar.UID)
	case own.Privileged != nil && *own.Privileged:
		return "it is privileged, and can change the packet rules"
	}
	capabilities := own.Capabilities
	if capabilities == nil {
		capabilities = &corev1.Capabilities{}
	}
	for _, c := range capabilities.Add {
		if slices.Contains(captureCapabilities, capabilityName(c)) {
			return fmt.Sprintf("capability %s lets it become the user of the proxy, or change the packet rules", c)
		}
	}
	dropped := func(c corev1.Capability) bool {
		return slices.Contains([]corev1.Capability{"ALL", "SETUID"}, capabilityName(c))
	}
	if user != nil && *user == 0 && !slices.ContainsFunc(capabilities.Drop, dropped) {
		return "it runs as root with the capability SETUID, and can become the user of the proxy; drop SETUID, or use another user"
	}
	return ""
}

// capabilityName returns the name of a capability without its prefix.
func capabilityName(c corev1.Capability) corev1.Capability {
	return corev1.Capability(strings.TrimPrefix(strings.ToUpper(string(c)), "CAP_"))
}
