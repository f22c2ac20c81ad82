package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// firstUnprivilegedPort is the lowest port that any user may listen on, unless portSysctl is set.
const (
	firstUnprivilegedPort = 1024
	portSysctl            = "net.ipv4.ip_unprivileged_port_start"
)

// lacksProxy returns a warning for a pod of a gateway that has no container for the proxy, or "".
func lacksProxy(pod *corev1.Pod, w model.Workload, o dialect.PodOptions) string {
	if w.Role != model.RoleGateway || proxyContainer(pod, o) != nil {
		return ""
	}
	return fmt.Sprintf("pod %s is a pod of %s, but has no container named %s, which would become the proxy; it is not changed",
		podName(pod), w.Origin.Object(), o.ProxyContainer)
}

func proxyContainer(pod *corev1.Pod, o dialect.PodOptions) *corev1.Container {
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == o.ProxyContainer })
	if i < 0 {
		return nil
	}
	return &pod.Spec.Containers[i]
}

// hasAgent reports whether a container is already injected.
func hasAgent(c *corev1.Container) bool {
	return len(c.Command) > 1 && c.Command[0] == agentCommand[0] && c.Command[1] == agentCommand[1]
}

// injectGateway makes a container of the pod the proxy of a gateway. The user's settings of the container stay, except
// for image and command. The pod has no capture.
func injectGateway(pod *corev1.Pod, c *sidecar.InjectorContext, o dialect.PodOptions, server controlPlane,
	drainSeconds int64) {
	spec, into := c.Sidecar, proxyContainer(pod, o)
	if !o.KeepImage {
		into.Image, into.ImagePullPolicy = spec.Container.Image, c.ContainerPullPolicy
	}
	into.Command = append(agentArguments(c, server), "--drain-duration", fmt.Sprintf("%ds", drainSeconds), "--")
	into.Command = append(into.Command, spec.Command...)
	into.Args = nil
	for _, port := range append(slices.Clone(spec.Container.Ports), agentPort()) {
		taken := func(p corev1.ContainerPort) bool {
			return p.Name == port.Name || p.ContainerPort == port.ContainerPort && p.Protocol == port.Protocol
		}
		if !slices.ContainsFunc(into.Ports, taken) {
			into.Ports = append(into.Ports, port)
		}
	}
	for _, e := range slices.Concat(spec.Container.Env, []corev1.EnvVar{nodeIPs()}, o.Env) {
		if !slices.ContainsFunc(into.Env, func(own corev1.EnvVar) bool { return own.Name == e.Name }) {
			into.Env = append(into.Env, e)
		}
	}
	if into.Resources.Requests == nil && into.Resources.Limits == nil {
		into.Resources = spec.Container.Resources
	}
	overrideResources(&into.Resources, o.Resources)
	if into.ReadinessProbe == nil {
		into.ReadinessProbe = readinessProbe()
	}
	if into.LivenessProbe == nil {
		into.LivenessProbe = livenessProbe()
	}
	if into.Lifecycle == nil && len(spec.Drain) > 0 {
		into.Lifecycle = drainHook(spec)
	}
	restrict(pod, into, c.Workload)
	into.VolumeMounts = append(into.VolumeMounts, spec.Container.VolumeMounts...)
	into.VolumeMounts = append(into.VolumeMounts, agentMounts(o)...)
}

// restrict sets what the user leaves open to the least privilege of the proxy. Its user may listen on all ports.
func restrict(pod *corev1.Pod, c *corev1.Container, w model.Workload) {
	if c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{}
	}
	s, own, ofPod := proxySecurity(), c.SecurityContext, pod.Spec.SecurityContext
	if own.RunAsUser == nil && (ofPod == nil || ofPod.RunAsUser == nil) {
		own.RunAsUser, own.RunAsGroup, own.RunAsNonRoot = s.RunAsUser, s.RunAsGroup, s.RunAsNonRoot
	}
	if own.AllowPrivilegeEscalation == nil && (own.Privileged == nil || !*own.Privileged) {
		own.AllowPrivilegeEscalation = s.AllowPrivilegeEscalation
	}
	if own.ReadOnlyRootFilesystem == nil {
		own.ReadOnlyRootFilesystem = s.ReadOnlyRootFilesystem
	}
	if own.Capabilities == nil {
		own.Capabilities = s.Capabilities
	}
	privileged := func(l model.Listener) bool { return l.Port != 0 && l.Port < firstUnprivilegedPort }
	if !slices.ContainsFunc(w.Listeners, privileged) {
		return
	}
	if ofPod == nil {
		ofPod = &corev1.PodSecurityContext{}
		pod.Spec.SecurityContext = ofPod
	}
	if !slices.ContainsFunc(ofPod.Sysctls, func(s corev1.Sysctl) bool { return strings.EqualFold(s.Name, portSysctl) }) {
		ofPod.Sysctls = append(ofPod.Sysctls, corev1.Sysctl{Name: portSysctl, Value: "0"})
	}
}

// readinessProbe asks the agent whether the proxy is ready. The agent answers within 2 s. A proxy or an agent that does
// not respond makes the pod not ready within 20 s.
func readinessProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: agentProbe("/ready"), PeriodSeconds: 5, TimeoutSeconds: 3, FailureThreshold: 3,
	}
}

// livenessGracePeriod is the time to terminate of a proxy that does not respond, in seconds. It cannot drain.
const livenessGracePeriod = 5

// livenessProbe asks the agent whether the proxy responds. It does not depend on the control plane. A proxy or an agent
// that does not respond for 30 s is restarted, after the pod is not ready: a node that is short of CPU is no reason.
func livenessProbe() *corev1.Probe {
	grace := int64(livenessGracePeriod)
	return &corev1.Probe{
		ProbeHandler: agentProbe("/live"), PeriodSeconds: 5, TimeoutSeconds: 3, FailureThreshold: 6,
		TerminationGracePeriodSeconds: &grace,
	}
}

func agentProbe(path string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(sidecar.AgentPort)}}
}

func agentPort() corev1.ContainerPort {
	return corev1.ContainerPort{Name: "agent", ContainerPort: sidecar.AgentPort, Protocol: corev1.ProtocolTCP}
}

// drainHook drains the proxy when the termination of the pod starts.
func drainHook(spec *sidecar.Spec) *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: spec.Drain}}}
}
