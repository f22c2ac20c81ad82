package appmesh

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// Defaults of App Mesh: SSH and the instance metadata service of the cloud are not captured.
var (
	defaultIgnoredPorts = []int{22}
	defaultIgnoredIPs   = []string{"169.254.169.254"}
)

// gatewayContainer is the container of a gateway's pod that becomes the proxy, whatever its sidecarClass is.
const gatewayContainer = "envoy"

// PodOptions reads the annotations of a pod of a workload. Errors name the annotation.
func (d Dialect) PodOptions(pod *corev1.Pod, w model.Workload) (dialect.PodOptions, error) {
	o := dialect.PodOptions{
		InboundPorts: listenerPorts(w), OutboundPortExclusions: defaultIgnoredPorts,
		OutboundIPExclusions: defaultIgnoredIPs, IPv6: true,
		Env: []corev1.EnvVar{
			{Name: "APPMESH_RESOURCE_ARN", Value: w.NodeID}, {Name: "APPMESH_VIRTUAL_NODE_NAME", Value: w.NodeID},
		},
	}
	if w.Role == model.RoleGateway {
		o.ProxyContainer, o.InboundPorts = gatewayContainer, nil
	}
	for _, a := range []struct {
		key   string
		parse func(string) error
	}{
		{"virtualGatewaySkipImageOverride", func(v string) error { o.KeepImage = strings.EqualFold(v, "enabled"); return nil }},
		{"ports", setPorts(&o.InboundPorts)},
		{"egressIgnoredPorts", setPorts(&o.OutboundPortExclusions)},
		{"egressIgnoredIPs", func(v string) error { return setPrefixes(&o.OutboundIPExclusions, v) }},
		{"ipv6", func(v string) error { o.IPv6 = !strings.EqualFold(v, "disabled"); return nil }},
		{"cpuRequest", setQuantity(&o.Resources.Requests, corev1.ResourceCPU)},
		{"memoryRequest", setQuantity(&o.Resources.Requests, corev1.ResourceMemory)},
		{"cpuLimit", setQuantity(&o.Resources.Limits, corev1.ResourceCPU)},
		{"memoryLimit", setQuantity(&o.Resources.Limits, corev1.ResourceMemory)},
		{"secretMounts", func(v string) error { return addMounts(&o.SecretMounts, v, prefix+"secretMounts") }},
		{"volumeMounts", func(v string) error { return addMounts(&o.VolumeMounts, v, prefix+"volumeMounts") }},
		{"sidecarEnv", func(v string) error { return addEnv(&o.Env, v) }},
		{"sidecarEnvJson", func(v string) error { return addEnvJSON(&o.Env, v) }},
	} {
		value, ok := pod.Annotations[prefix+a.key]
		if !ok {
			continue
		}
		if err := a.parse(value); err != nil {
			return dialect.PodOptions{}, fmt.Errorf("annotation %s%s: %w", prefix, a.key, err)
		}
	}
	o.SecretMounts = append(o.SecretMounts, acmSecrets(w)...)
	d.addSDS(&o, pod)
	o.Warnings = annotationWarnings(pod)
	return o, nil
}

// addSDS adds the socket of the server of the secret discovery service, which an annotation disables.
func (d Dialect) addSDS(o *dialect.PodOptions, pod *corev1.Pod) {
	if !d.SDS.Enabled {
		return
	}
	o.SDSSocket = &dialect.SDSSocket{Path: d.SDS.Path}
	if strings.EqualFold(pod.Annotations[prefix+"sds"], "disabled") {
		return
	}
	o.SDSSocket.Volume = "appmesh-sds-socket-volume"
	o.Env = append(o.Env, corev1.EnvVar{Name: "APPMESH_SDS_SOCKET_PATH", Value: d.SDS.Path})
}

// annotationWarnings returns warnings for annotations that App Mesh supported and Anymesh does not.
func annotationWarnings(pod *corev1.Pod) []string {
	var out []string
	for _, a := range []struct{ key, value, text string }{
		{"appmeshCNI", "enabled", "packet rules are set by an init container, not by a CNI plugin"},
		{"preview", "enabled", "there is no preview channel"},
		{"xrayAgentConfigMount", "", "the pod has no X-Ray agent"},
	} {
		if value, ok := pod.Annotations[prefix+a.key]; ok && (a.value == "" || strings.EqualFold(value, a.value)) {
			out = append(out, fmt.Sprintf("annotation %s%s is not supported: %s", prefix, a.key, a.text))
		}
	}
	return out
}

// splitList splits at commas and removes empty items.
func splitList(value string) []string {
	var out []string
	for _, item := range strings.Split(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

func setPorts(into *[]int) func(string) error {
	return func(value string) error {
		var ports []int
		for _, item := range splitList(value) {
			port, err := strconv.ParseUint(item, 10, 16)
			if err != nil || port == 0 {
				return fmt.Errorf("%q is not a port from 1 to 65535", item)
			}
			ports = append(ports, int(port))
		}
		*into = ports
		return nil
	}
}

func setPrefixes(into *[]string, value string) error {
	*into = nil
	for _, item := range splitList(value) {
		_, addrErr := netip.ParseAddr(item)
		if _, err := netip.ParsePrefix(item); err != nil && addrErr != nil {
			return fmt.Errorf("%q is neither an IP address nor a CIDR range", item)
		}
		*into = append(*into, item)
	}
	return nil
}

func setQuantity(into *corev1.ResourceList, name corev1.ResourceName) func(string) error {
	return func(value string) error {
		quantity, err := resource.ParseQuantity(value)
		if err != nil {
			return fmt.Errorf("%q is not a quantity: %w", value, err)
		}
		if *into == nil {
			*into = corev1.ResourceList{}
		}
		(*into)[name] = quantity
		return nil
	}
}

func addMounts(into *[]dialect.Mount, value, annotation string) error {
	for _, item := range splitList(value) {
		name, path, ok := strings.Cut(item, ":")
		name, path = strings.TrimSpace(name), strings.TrimSpace(path)
		if !ok || name == "" || !strings.HasPrefix(path, "/") {
			return fmt.Errorf("%q is not of the form name:/path", item)
		}
		*into = append(*into, dialect.Mount{Name: name, Path: path, Annotation: annotation})
	}
	return nil
}

func addEnv(into *[]corev1.EnvVar, value string) error {
	for _, item := range splitList(value) {
		name, v, ok := strings.Cut(item, "=")
		name, v = strings.TrimSpace(name), strings.TrimSpace(v)
		if !ok || name == "" || strings.Contains(v, "=") {
			return fmt.Errorf("%q is not of the form NAME=value; use sidecarEnvJson for values with an equals sign",
				item)
		}
		*into = append(*into, corev1.EnvVar{Name: name, Value: v})
	}
	return nil
}

func addEnvJSON(into *[]corev1.EnvVar, value string) error {
	var list []map[string]string
	if err := json.Unmarshal([]byte(value), &list); err != nil {
		return fmt.Errorf("not a JSON list of objects with string values: %w", err)
	}
	for _, m := range list {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			*into = append(*into, corev1.EnvVar{Name: name, Value: m[name]})
		}
	}
	return nil
}
