package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

func (a *Action) check(map[string]bool) error {
	for _, alone := range []struct {
		name string
		set  bool
	}{{"deny", a.Deny}, {"redirect", a.Redirect != nil}} {
		switch {
		case !alone.set:
		case a.Apply != "" || a.Route != nil || len(a.Rewrite) > 0 || a.Deny && a.Redirect != nil:
			return fmt.Errorf("%[1]s: apply, route, rewrite and others have no effect with %[1]s", alone.name)
		default:
			return nil
		}
	}
	switch {
	case a.Apply != "" && a.Route != nil:
		return errors.New("apply: route has no effect with apply")
	case a.Apply == "" && a.Route == nil:
		return errors.New("route: a rule needs route, apply, deny or redirect")
	}
	return nil
}

// redirectStatuses are those of responses with the URL of another place.
var redirectStatuses = []int{301, 302, 303, 307, 308}

func (r *Redirect) check(set map[string]bool) error {
	if !set["status"] {
		r.Status = 308
	}
	switch {
	case r.Scheme != "http" && r.Scheme != "https":
		return fmt.Errorf("scheme: %q is none of http and https", r.Scheme)
	case !isHost(r.Host):
		return fmt.Errorf("host: %q is no host", r.Host)
	case !slices.Contains(redirectStatuses, r.Status):
		return fmt.Errorf("status: %d is none of %v", r.Status, redirectStatuses)
	}
	return nil
}

// isHost reports whether a text can be a host, with a port or without.
func isHost(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || c == '/' })
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
