package provider

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition is a condition in the status of an object.
type Condition struct {
	// Status is True, False or Unknown, and empty if there is no such condition.
	Status          string
	Reason, Message string
	// Generation is the observed generation, and 0 if the condition has none.
	Generation int64
}

// ConditionOf returns the condition of a type, at a path of lists of conditions such as "status", "conditions".
func ConditionOf(object map[string]any, kind string, path ...string) Condition {
	list, _, _ := unstructured.NestedSlice(object, path...)
	for _, item := range list {
		c, ok := item.(map[string]any)
		if !ok || c["type"] != kind {
			continue
		}
		var out Condition
		out.Status, _ = c["status"].(string)
		out.Reason, _ = c["reason"].(string)
		out.Message, _ = c["message"].(string)
		out.Generation, _, _ = unstructured.NestedInt64(c, "observedGeneration")
		return out
	}
	return Condition{}
}

// IsTrue reports whether the condition is True for a generation of its object.
func (c Condition) IsTrue(generation int64) bool {
	return c.Status == "True" && c.isCurrent(generation)
}

// isCurrent reports whether the condition is that of a generation, or says no generation.
func (c Condition) isCurrent(generation int64) bool {
	return c.Generation == 0 || c.Generation >= generation
}

// Describe says what a condition that is not True says: its message, else its reason, else that it is not set yet.
func (c Condition) Describe(generation int64) string {
	switch {
	case c.Status == "":
		return "its controller has not set a condition yet"
	case !c.isCurrent(generation):
		return "its controller has not seen the last change yet"
	case c.Message != "":
		return strings.TrimSuffix(c.Message, ".")
	case c.Reason != "":
		return c.Reason
	}
	return "the condition has the status " + c.Status
}

// LoadBalancerAddresses returns the IP addresses and host names in status.loadBalancer.ingress.
func LoadBalancerAddresses(object *unstructured.Unstructured) []string {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
	var out []string
	for _, item := range list {
		entry, _ := item.(map[string]any)
		for _, field := range []string{"ip", "hostname"} {
			if text, _ := entry[field].(string); text != "" {
				out = append(out, text)
				break
			}
		}
	}
	return out
}
