package discovery

import (
	"encoding/json"
	"errors"
	"fmt"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
)

// applier takes changes of a configuration. What it returns an error for may be applied in part.
type applier interface {
	Patch(*config.Config, proxy.Removed) error
}

// parts are the parts of the configuration that the proxy has, by the names of their resources.
type parts struct {
	proxy   applier
	applied map[string]*config.Config
	// owners are the parts of the objects.
	owners map[object]string
}

// object is an object of a part: its class and name.
type object struct{ class, name string }

const (
	listenerClass = "listener"
	clusterClass  = "cluster"
	ruleListClass = "rulelist"
)

// parse reads a part.
func parse(text []byte) (*config.Config, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	out := new(config.Config)
	return out, config.Decode("", value, out)
}

// change is a new part, or nil for one that is removed.
type change struct {
	name string
	part *config.Config
}

// apply applies changes at once. If the proxy refuses them, it applies one after the other, first those that remove,
// whose sockets others may need, and returns the errors of those that are refused, by name.
func (p *parts) apply(changes []change) map[string]error {
	if p.replace(changes) == nil {
		return nil
	}
	refused := map[string]error{}
	for _, removes := range []bool{true, false} {
		for i, c := range changes {
			if (c.part == nil) != removes {
				continue
			}
			if err := p.replace(changes[i : i+1]); err != nil {
				refused[c.name] = err
			}
		}
	}
	return refused
}

// replace applies changes, or none of them. The proxy gets the objects of these parts only.
func (p *parts) replace(changes []change) error {
	before, after := &config.Config{}, &config.Config{}
	owners := map[object]string{}
	for _, c := range changes {
		add(before, p.applied[c.name])
		add(after, c.part)
		for _, o := range objectsOf(c.part) {
			if other, twice := owners[o]; twice {
				return fmt.Errorf("%s %q is in %s and in %s", o.class, o.name, other, c.name)
			}
			owners[o] = c.name
		}
	}
	changed := map[string]bool{}
	for _, c := range changes {
		changed[c.name] = true
	}
	for o, name := range owners {
		if other := p.owners[o]; other != "" && !changed[other] {
			return fmt.Errorf("%s %q is in %s and in %s", o.class, o.name, other, name)
		}
	}
	if err := p.proxy.Patch(after, missing(before, owners)); err != nil {
		// What a failed attempt has changed is taken back.
		was := map[object]string{}
		for _, o := range objectsOf(before) {
			was[o] = p.owners[o]
		}
		return errors.Join(err, p.proxy.Patch(before, missing(after, was)))
	}
	for _, o := range objectsOf(before) {
		delete(p.owners, o)
	}
	for o, name := range owners {
		p.owners[o] = name
	}
	for _, c := range changes {
		if delete(p.applied, c.name); c.part != nil {
			p.applied[c.name] = c.part
		}
	}
	return nil
}

// add adds the objects of a part, which may be nil.
func add(to, part *config.Config) {
	if part == nil {
		return
	}
	if part.Admin != nil {
		to.Admin = part.Admin
	}
	to.Listeners = append(to.Listeners, part.Listeners...)
	to.Clusters = append(to.Clusters, part.Clusters...)
	to.RuleLists = append(to.RuleLists, part.RuleLists...)
}

// objectsOf lists the objects of a part, which may be nil.
func objectsOf(part *config.Config) []object {
	if part == nil {
		return nil
	}
	var out []object
	for i := range part.Listeners {
		out = append(out, object{listenerClass, part.Listeners[i].Name})
	}
	for i := range part.Clusters {
		out = append(out, object{clusterClass, part.Clusters[i].Name})
	}
	for i := range part.RuleLists {
		out = append(out, object{ruleListClass, part.RuleLists[i].Name})
	}
	return out
}

// missing returns the objects of a configuration that are not among others.
func missing(c *config.Config, others map[object]string) proxy.Removed {
	var out proxy.Removed
	for _, o := range objectsOf(c) {
		if _, stays := others[o]; stays {
			continue
		}
		switch o.class {
		case listenerClass:
			out.Listeners = append(out.Listeners, o.name)
		case clusterClass:
			out.Clusters = append(out.Clusters, o.name)
		default:
			out.RuleLists = append(out.RuleLists, o.name)
		}
	}
	return out
}
