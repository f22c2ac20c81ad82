package inject

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"anymesh.dev/anymesh/sidecar"
)

// hookTokenHeader is the header with which the agent recognizes the kubelet, for hooks.
const hookTokenHeader = "X-Anymesh-Hook"

// originalProbe is a probe, or a hook in the form of a probe, that the agent performs. See agent.Probe.
type originalProbe struct {
	*corev1.Probe
	Token string `json:"token,omitempty"`
}

// rewriteProbes redirects probes and httpGet hooks of captured ports to the agent, and returns the originals as JSON.
// Otherwise the sidecar would accept the probe's connection, whatever the state of the application, and a listener with
// TLS would refuse the hook. Requests for hooks have a token, since a hook may do anything, such as a shutdown.
func rewriteProbes(pod *corev1.Pod, captured func(port int) bool, proxy uuid.UUID) (string, error) {
	original := map[string]originalProbe{}
	rewrite := func(c *corev1.Container, kind string, probe *corev1.Probe) {
		if probe == nil {
			return
		}
		port, ok := probedPort(c, probe)
		if !ok || !captured(port) {
			return
		}
		kept := probe.DeepCopy()
		setPort(kept, port)
		original[c.Name+"/"+kind] = originalProbe{Probe: kept}
		probe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: fmt.Sprintf("/app-probe/%s/%s", c.Name, kind), Port: intstr.FromInt32(sidecar.AgentPort),
		}}
	}
	token := hookToken(proxy)
	rewriteHook := func(c *corev1.Container, kind string, hook *corev1.LifecycleHandler) {
		if hook == nil || hook.HTTPGet == nil {
			return
		}
		probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: hook.HTTPGet}, TimeoutSeconds: hookTimeout(pod)}
		if rewrite(c, kind, probe); probe.HTTPGet == hook.HTTPGet {
			return // of another host or port
		}
		original[c.Name+"/"+kind] = originalProbe{original[c.Name+"/"+kind].Probe, token}
		hook.HTTPGet = probe.HTTPGet
		hook.HTTPGet.HTTPHeaders = []corev1.HTTPHeader{{Name: hookTokenHeader, Value: token}}
	}
	containers := func(list []corev1.Container) {
		for i := range list {
			c := &list[i]
			rewrite(c, "livez", c.LivenessProbe)
			rewrite(c, "readyz", c.ReadinessProbe)
			rewrite(c, "startupz", c.StartupProbe)
			if c.Lifecycle != nil {
				rewriteHook(c, "poststart", c.Lifecycle.PostStart)
				rewriteHook(c, "prestop", c.Lifecycle.PreStop)
			}
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

// hookToken returns the token of a sidecar. It is derived from its UUID, so that a repeated review gives the same pod.
func hookToken(proxy uuid.UUID) string {
	sum := sha256.Sum256([]byte("anymesh.dev/hook/" + proxy.String()))
	return hex.EncodeToString(sum[:16])
}

// hookTimeout is how long the agent waits for the response to a hook, in seconds: the grace period of the pod. The
// kubelet waits for a hook without a limit, and for one of a pod that terminates until the grace period ends.
func hookTimeout(pod *corev1.Pod) int32 {
	grace := int64(defaultGracePeriod)
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = *g
	}
	return int32(max(1, min(grace, maxPreStopDelay)))
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
