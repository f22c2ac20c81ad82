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
)

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
