package object

import (
	"fmt"
	"slices"

	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// maxLookups limits how often a lookup begins again because objects change.
const maxLookups = 100

// Lookup returns the route of a session, and a copy of the document with the rewrites of the rules that chose it; nil
// if they have none. rules returns the current rule list. A change of the rules during a lookup lets it begin again, so
// that a session sees the rules before or those after.
func Lookup(rules func() *Slot[RuleList], d metadata.Document) (route *Route, copied *metadata.Tree, err error) {
	for range maxLookups {
		first := rules()
		var seen [4]*RuleList // the last ones
		route, copied, err = lookup(first, d, &seen)
		if err == nil || rules() == first && !changed(&seen) {
			break
		}
	}
	return route, copied, err
}

// changed reports whether a rule list of a lookup is not the current one.
func changed(seen *[4]*RuleList) bool {
	return slices.ContainsFunc(seen[:], func(l *RuleList) bool { return l != nil && l.slot.Get() != l })
}

func lookup(list *Slot[RuleList], d metadata.Document, seen *[4]*RuleList) (*Route, *metadata.Tree, error) {
	var copied *metadata.Tree
	current := d
	for i := range maxApply {
		l := list.Get()
		if l == nil {
			return nil, nil, fmt.Errorf("%w: rule list %q does not exist", ErrNoRoute, list.Name)
		}
		seen[i%len(seen)] = l
		if of := l.ofHost(current); of != nil {
			list = of
			continue
		}
		rule := l.match(current)
		switch {
		case rule == nil:
			return nil, nil, ErrNoRoute
		case rule.Deny:
			return nil, nil, ErrDenied
		case rule.Redirect != nil:
			return nil, nil, &RedirectError{rule.Redirect}
		}
		var err error
		if copied, err = rule.rewrite(d, copied); err != nil {
			return nil, nil, err
		}
		if rule.Apply != nil {
			if list = rule.Apply; copied != nil {
				current = copied
			}
			continue
		}
		route := rule.Route.Get()
		if route == nil {
			return nil, nil, fmt.Errorf("%w: route %q does not exist", ErrNoRoute, rule.Route.Name)
		}
		return route, copied, nil
	}
	return nil, nil, fmt.Errorf("%w: more than %d rule lists apply each other", ErrNoRoute, maxApply)
}
