package inject

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"anymesh.dev/anymesh/model"
)

// settings are what a pod's annotations say about its sidecar.
type settings struct {
	inboundPorts []int
	ignoredPorts []int
	ignoredIPs   []string
	ipv6         bool
	resources    corev1.ResourceRequirements
	env          []corev1.EnvVar
	secretMounts []mount
	volumeMounts []mount
	preStopDelay int64 // seconds
}

type mount struct{ name, path string }

// The defaults of App Mesh: ssh and the cloud's metadata service go past the sidecar.
var (
	defaultIgnoredPorts = []int{22}
	defaultIgnoredIPs   = []string{"169.254.169.254"}
)

// settingsOf reads the annotations. Errors name the annotation.
func settingsOf(pod *corev1.Pod, w model.Workload) (settings, error) {
	s := settings{ignoredPorts: defaultIgnoredPorts, ignoredIPs: defaultIgnoredIPs, ipv6: true, preStopDelay: defaultPreStopDelay}
	for _, l := range w.Listeners {
		if l.Port != 0 {
			s.inboundPorts = append(s.inboundPorts, int(l.Port))
		}
	}
	for _, a := range []struct {
		key  string
		into func(string) error
	}{
		{"ports", intoPorts(&s.inboundPorts)},
		{"egressIgnoredPorts", intoPorts(&s.ignoredPorts)},
		{"egressIgnoredIPs", func(v string) error { return intoPrefixes(&s.ignoredIPs, v) }},
		{"ipv6", func(v string) error { s.ipv6 = !strings.EqualFold(v, "disabled"); return nil }},
		{"cpuRequest", intoQuantity(&s.resources.Requests, corev1.ResourceCPU)},
		{"memoryRequest", intoQuantity(&s.resources.Requests, corev1.ResourceMemory)},
		{"cpuLimit", intoQuantity(&s.resources.Limits, corev1.ResourceCPU)},
		{"memoryLimit", intoQuantity(&s.resources.Limits, corev1.ResourceMemory)},
		{"secretMounts", func(v string) error { return intoMounts(&s.secretMounts, v) }},
		{"volumeMounts", func(v string) error { return intoMounts(&s.volumeMounts, v) }},
		{"sidecarEnv", func(v string) error { return intoEnv(&s.env, v) }},
		{"sidecarEnvJson", func(v string) error { return intoEnvJSON(&s.env, v) }},
	} {
		value, ok := pod.Annotations[prefix+a.key]
		if !ok {
			continue
		}
		if err := a.into(value); err != nil {
			return settings{}, fmt.Errorf("annotation %s%s: %w", prefix, a.key, err)
		}
	}
	if value, ok := pod.Annotations[preStopDelayKey]; ok {
		var err error
		if s.preStopDelay, err = secondsOf(value); err != nil {
			return settings{}, fmt.Errorf("annotation %s: %w", preStopDelayKey, err)
		}
	}
	return s, nil
}

// notHonoured warns of annotations that App Mesh acted on and we do not.
func notHonoured(pod *corev1.Pod) []string {
	var out []string
	for _, a := range []struct{ key, value, text string }{
		{"appmeshCNI", "enabled", "an init container sets the pod's packet rules, not a CNI plugin"},
		{"preview", "enabled", "there is no preview channel"},
		{"xrayAgentConfigMount", "", "there is no X-Ray agent in the pod"},
	} {
		if value, ok := pod.Annotations[prefix+a.key]; ok && (a.value == "" || strings.EqualFold(value, a.value)) {
			out = append(out, fmt.Sprintf("annotation %s%s is not honoured: %s", prefix, a.key, a.text))
		}
	}
	return out
}

// list splits at commas and drops blanks.
func list(value string) []string {
	var out []string
	for _, item := range strings.Split(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

func intoPorts(into *[]int) func(string) error {
	return func(value string) error {
		var ports []int
		for _, item := range list(value) {
			port, err := strconv.ParseUint(item, 10, 16)
			if err != nil || port == 0 {
				return fmt.Errorf("%q is no port from 1 to 65535", item)
			}
			ports = append(ports, int(port))
		}
		*into = ports
		return nil
	}
}

func intoPrefixes(into *[]string, value string) error {
	*into = nil
	for _, item := range list(value) {
		_, addrErr := netip.ParseAddr(item)
		if _, err := netip.ParsePrefix(item); err != nil && addrErr != nil {
			return fmt.Errorf("%q is neither an IP address nor a CIDR range", item)
		}
		*into = append(*into, item)
	}
	return nil
}

func intoQuantity(into *corev1.ResourceList, name corev1.ResourceName) func(string) error {
	return func(value string) error {
		quantity, err := resource.ParseQuantity(value)
		if err != nil {
			return fmt.Errorf("%q is no quantity: %w", value, err)
		}
		if *into == nil {
			*into = corev1.ResourceList{}
		}
		(*into)[name] = quantity
		return nil
	}
}

func intoMounts(into *[]mount, value string) error {
	for _, item := range list(value) {
		name, path, ok := strings.Cut(item, ":")
		name, path = strings.TrimSpace(name), strings.TrimSpace(path)
		if !ok || name == "" || !strings.HasPrefix(path, "/") {
			return fmt.Errorf("%q is not of the form name:/path", item)
		}
		*into = append(*into, mount{name, path})
	}
	return nil
}

func intoEnv(into *[]corev1.EnvVar, value string) error {
	for _, item := range list(value) {
		name, v, ok := strings.Cut(item, "=")
		name, v = strings.TrimSpace(name), strings.TrimSpace(v)
		if !ok || name == "" || strings.Contains(v, "=") {
			return fmt.Errorf("%q is not of the form NAME=value; use sidecarEnvJson for values with an equals sign", item)
		}
		*into = append(*into, corev1.EnvVar{Name: name, Value: v})
	}
	return nil
}

func intoEnvJSON(into *[]corev1.EnvVar, value string) error {
	var maps []map[string]string
	if err := json.Unmarshal([]byte(value), &maps); err != nil {
		return fmt.Errorf("no JSON list of objects with string values: %w", err)
	}
	for _, m := range maps {
		for _, name := range sortedKeys(m) {
			*into = append(*into, corev1.EnvVar{Name: name, Value: m[name]})
		}
	}
	return nil
}
