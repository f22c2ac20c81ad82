package inject

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"anymesh.dev/anymesh/sidecar"
)

// rewriteProbes redirects probes of captured ports to the agent, and returns the original probes as JSON. Otherwise the
// sidecar would accept the probe's connection, whatever the state of the application.
func rewriteProbes(pod *corev1.Pod, captured []int) (string, error) {
	original := map[string]*corev1.Probe{}
	rewrite := func(c *corev1.Container, kind string, probe *corev1.Probe) {
		if probe == nil {
			return
		}
		port, ok := probedPort(c, probe)
		if !ok || !slices.Contains(captured, port) {
			return
		}
		kept := probe.DeepCopy()
		setPort(kept, port)
		original[c.Name+"/"+kind] = kept
		probe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: fmt.Sprintf("/app-probe/%s/%s", c.Name, kind), Port: intstr.FromInt32(sidecar.AgentPort),
		}}
	}
	containers := func(list []corev1.Container) {
		for i := range list {
			c := &list[i]
			rewrite(c, "livez", c.LivenessProbe)
			rewrite(c, "readyz", c.ReadinessProbe)
			rewrite(c, "startupz", c.StartupProbe)
		}
	}
	containers(pod.Spec.Containers)
	containers(pod.Spec.InitContainers)
	if len(original) == 0 {
		return "", nil
	}
	text, err := json.Marshal(original)
	if err != nil {
		return "", fmt.Errorf("probes of the pod: %w", err)
	}
	return string(text), nil
}

// probedPort returns the port of a probe. It reports false for exec probes and for probes of another host.
func probedPort(c *corev1.Container, p *corev1.Probe) (int, bool) {
	var port intstr.IntOrString
	switch {
	case p.HTTPGet != nil && p.HTTPGet.Host == "":
		port = p.HTTPGet.Port
	case p.TCPSocket != nil && p.TCPSocket.Host == "":
		port = p.TCPSocket.Port
	case p.GRPC != nil:
		return int(p.GRPC.Port), true
	default:
		return 0, false
	}
	if port.Type == intstr.Int {
		return port.IntValue(), true
	}
	for _, named := range c.Ports {
		if named.Name == port.StrVal {
			return int(named.ContainerPort), true
		}
	}
	return 0, false
}

// setPort replaces a named port of a probe by its number.
func setPort(p *corev1.Probe, port int) {
	switch {
	case p.HTTPGet != nil:
		p.HTTPGet.Port = intstr.FromInt(port)
	case p.TCPSocket != nil:
		p.TCPSocket.Port = intstr.FromInt(port)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
