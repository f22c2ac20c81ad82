package config

import (
	"encoding/json"
	"fmt"
)

// Ref is the name of an object, or the object itself.
type Ref[T any] struct {
	Name   string
	Inline *T
}

// The references between objects.
type (
	// ClusterRef is the name of a cluster, or a cluster.
	ClusterRef = Ref[Cluster]
	// RouteRef is the name of a route, or a route.
	RouteRef = Ref[Route]
	// RuleRef is the name of a rule, or a rule.
	RuleRef = Ref[Rule]
)

// MarshalJSON implements json.Marshaler.
func (r Ref[T]) MarshalJSON() ([]byte, error) {
	if r.Inline != nil {
		return json.Marshal(r.Inline)
	}
	return json.Marshal(r.Name)
}

// decode implements decoder.
func (r *Ref[T]) decode(path string, in any) error {
	switch in := in.(type) {
	case string:
		if err := checkName(in); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.Name = in
		return nil
	case map[string]any:
		r.Inline = new(T)
		return decodeObject(path, in, r.Inline)
	}
	return fmt.Errorf("%s: must be a name or an object, is %s", path, typeOf(in))
}

// RulesRef is the name of a rule list, or rules.
type RulesRef struct {
	Name   string
	Inline []RuleRef
}

// MarshalJSON implements json.Marshaler.
func (r RulesRef) MarshalJSON() ([]byte, error) {
	if r.Name != "" {
		return json.Marshal(r.Name)
	}
	return json.Marshal(r.Inline)
}

// decode implements decoder.
func (r *RulesRef) decode(path string, in any) error {
	switch in := in.(type) {
	case string:
		if err := checkName(in); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.Name = in
		return nil
	case []any:
		r.Inline = make([]RuleRef, len(in))
		for i, one := range in {
			if err := r.Inline[i].decode(fmt.Sprintf("%s[%d]", path, i), one); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s: must be the name of a rule list or a list of rules, is %s", path, typeOf(in))
}

// decode implements decoder: a string copies the metadata at this path into the root of the header.
func (h *HeaderPath) decode(path string, in any) error {
	if from, is := in.(string); is {
		h.From, h.To = from, "/"
		return nil
	}
	type plain HeaderPath
	return decodeObject(path, in, (*plain)(h))
}
