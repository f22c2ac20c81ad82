package discovery

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// applier takes a whole configuration. It keeps the one before if it returns an error.
type applier interface{ Replace(*config.Config) error }

// parts are the parts of the configuration that the proxy has, by the names of their resources.
type parts struct {
	proxy   applier
	applied map[string]*config.Config
}

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

// apply applies changes at once. If the proxy refuses them, it applies one after the other, and returns the errors of
// those that are refused, by name.
func (p *parts) apply(changes []change) map[string]error {
	if p.replace(changes) == nil {
		return nil
	}
	refused := map[string]error{}
	for i := range changes {
		if err := p.replace(changes[i : i+1]); err != nil {
			refused[changes[i].name] = err
		}
	}
	return refused
}

// replace applies changes, or none of them.
func (p *parts) replace(changes []change) error {
	next := maps.Clone(p.applied)
	for _, c := range changes {
		if delete(next, c.name); c.part != nil {
			next[c.name] = c.part
		}
	}
	if err := p.proxy.Replace(merge(next)); err != nil {
		// What a failed attempt has changed is taken back.
		return errors.Join(err, p.proxy.Replace(merge(p.applied)))
	}
	p.applied = next
	return nil
}

// merge returns the configuration of all parts.
func merge(all map[string]*config.Config) *config.Config {
	out := &config.Config{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out.Listeners = append(out.Listeners, all[name].Listeners...)
		out.Clusters = append(out.Clusters, all[name].Clusters...)
		out.RuleLists = append(out.RuleLists, all[name].RuleLists...)
	}
	return out
}
