package config

import (
	"errors"
	"fmt"
	"regexp"
)

func (a *Action) check(map[string]bool) error {
	switch {
	case a.Deny && (a.Apply != "" || a.Route != nil || len(a.Rewrite) > 0):
		return errors.New("deny: apply, route and rewrite have no effect with deny")
	case a.Deny:
		return nil
	case a.Apply != "" && a.Route != nil:
		return errors.New("apply: route has no effect with apply")
	case a.Apply == "" && a.Route == nil:
		return errors.New("route: a rule needs route, apply or deny")
	}
	return nil
}

func (r *Rewrite) check(set map[string]bool) error {
	for _, field := range []string{"path", "value"} {
		if !set[field] {
			return fmt.Errorf("%s: is required", field)
		}
	}
	if r.Pattern == "" {
		return nil
	}
	if _, text := r.Value.(string); !text {
		return errors.New("value: must be a string with pattern")
	}
	_, err := regexp.Compile(r.Pattern)
	return named("pattern", err)
}
