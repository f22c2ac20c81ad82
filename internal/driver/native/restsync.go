package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// restState is what a proxy has.
type restState struct {
	names     map[string]map[string]bool // by class
	endpoints map[string]map[string]bool // of clusters of the driver, by cluster
	rules     map[string][]string        // of rule lists of the driver
	sockets   map[string]string          // of all listeners, by name
}

// restSync makes one proxy have what a plan says. It sends what differs.
type restSync struct {
	restClient
	pod   string
	state *restState // nil if it is to be read
}

// restNamed is the part of the objects that is compared.
type restNamed struct {
	Name  string          `json:"name"`
	Spec  map[string]any  `json:"spec"`
	Rules json.RawMessage `json:"rules"`
}

// read reads what the proxy has.
func (s *restSync) read(ctx context.Context) error {
	state := &restState{
		names: map[string]map[string]bool{}, endpoints: map[string]map[string]bool{}, rules: map[string][]string{},
		sockets: map[string]string{},
	}
	for _, class := range []string{restListeners, restClusters, restRuleLists, restRules, restRoutes} {
		var all []restNamed
		if err := s.get(ctx, &all, class); err != nil {
			return err
		}
		state.names[class] = map[string]bool{}
		for _, o := range all {
			state.names[class][o.Name] = true
			own := strings.HasPrefix(o.Name, restPrefix)
			switch {
			case class == restListeners:
				state.sockets[o.Name] = restSocket(o.Spec)
			case class == restRuleLists && own:
				var rules []string
				if err := json.Unmarshal(o.Rules, &rules); err != nil {
					return fmt.Errorf("rule list %s: %w", o.Name, err)
				}
				state.rules[o.Name] = rules
			case class == restClusters && own:
				var endpoints []restNamed
				if err := s.get(ctx, &endpoints, restClusters, o.Name, "endpoints"); err != nil {
					return err
				}
				state.endpoints[o.Name] = map[string]bool{}
				for _, e := range endpoints {
					state.endpoints[o.Name][e.Name] = true
				}
			}
		}
	}
	s.state = state
	return nil
}

// sync sends the differences: first what others refer to. It returns findings about what the proxy refuses. With an
// error, or if something is refused, the state is read again the next time.
func (s *restSync) sync(ctx context.Context, p *restPlan) (findings []model.Finding, err error) {
	if s.state == nil {
		if err := s.read(ctx); err != nil {
			return nil, err
		}
	}
	refused := func(o *restObject, what string, failed error) {
		if failed == nil || err != nil {
			return
		}
		if !errors.Is(failed, errRefused) {
			err = failed
			return
		}
		for _, at := range o.origins {
			findings = append(findings, model.NewFinding(at, model.CodeRejected,
				fmt.Sprintf("the proxy of pod %s rejects %s: %v", s.pod, what, failed)))
		}
	}
	obsolete := map[string][]string{}
	for class, names := range s.state.names {
		for name := range names {
			if strings.HasPrefix(name, restPrefix) && p.objects[class][name] == nil {
				obsolete[class] = append(obsolete[class], name)
			}
		}
		slices.Sort(obsolete[class])
	}
	remove := func(class string) {
		for _, name := range obsolete[class] {
			if err == nil {
				err = s.drop(ctx, class, name)
			}
		}
	}
	for _, class := range []string{restClusters, restRoutes, restRules, restRuleLists, restListeners} {
		if class == restListeners {
			remove(class) // new ones may have their sockets
			err = errors.Join(err, s.dropClashing(ctx, p))
		}
		for _, name := range slices.Sorted(maps.Keys(p.objects[class])) {
			o := p.objects[class][name]
			if err == nil && !s.state.names[class][name] {
				refused(o, restKeys[class]+" "+name, s.add(ctx, o))
			}
			if err == nil && s.state.names[class][name] {
				refused(o, "endpoints of "+name, s.syncEndpoints(ctx, o))
				refused(o, "rules of "+name, s.syncRules(ctx, o))
			}
		}
	}
	if err == nil {
		obsolete[restClusters], err = s.syncFormer(ctx, p, obsolete[restClusters])
	}
	for _, class := range []string{restRuleLists, restRules, restRoutes, restClusters} {
		remove(class)
	}
	if err != nil || len(findings) > 0 {
		s.state = nil
	}
	return findings, err
}

// add adds an object that the proxy does not have; rule lists with their rules, and clusters without endpoints.
func (s *restSync) add(ctx context.Context, o *restObject) error {
	body := maps.Clone(o.body)
	if o.class == restRuleLists {
		body["rules"] = slices.Concat([]string{}, o.rules)
	}
	if err := s.post(ctx, restKeys[o.class], body, o.class); err != nil {
		return err
	}
	s.state.names[o.class][o.name] = true
	switch o.class {
	case restRuleLists:
		s.state.rules[o.name] = slices.Clone(o.rules)
	case restClusters:
		s.state.endpoints[o.name] = map[string]bool{}
	case restListeners:
		s.state.sockets[o.name] = o.socket
	}
	return nil
}

// drop deletes an object. Sessions go on.
func (s *restSync) drop(ctx context.Context, class, name string) error {
	if err := s.remove(ctx, class, name); err != nil {
		return fmt.Errorf("DELETE %s: %w", name, err)
	}
	delete(s.state.names[class], name)
	delete(s.state.sockets, name)
	delete(s.state.endpoints, name)
	delete(s.state.rules, name)
	return nil
}

// dropClashing deletes the listeners of others with a socket of the plan.
func (s *restSync) dropClashing(ctx context.Context, p *restPlan) error {
	wanted := map[string]bool{}
	for _, o := range p.objects[restListeners] {
		wanted[o.socket] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.state.sockets)) {
		if wanted[s.state.sockets[name]] && !strings.HasPrefix(name, restPrefix) {
			if err := s.drop(ctx, restListeners, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// syncEndpoints adds endpoints before it deletes others.
func (s *restSync) syncEndpoints(ctx context.Context, o *restObject) error {
	has := s.state.endpoints[o.name]
	for _, name := range slices.Sorted(maps.Keys(o.endpoints)) {
		if !has[name] {
			if err := s.post(ctx, "endpoint", o.endpoints[name], restClusters, o.name, "endpoints"); err != nil {
				return err
			}
			has[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if o.endpoints[name] == nil {
			if err := s.removeEndpoint(ctx, name); err != nil {
				return err
			}
			delete(has, name)
		}
	}
	return nil
}

// syncRules changes the rules of a list in place, so that there is no moment without rules: rules that both have at the
// beginning and at the end stay, the new ones are inserted, and the old ones behind them are deleted.
func (s *restSync) syncRules(ctx context.Context, o *restObject) error {
	if o.class != restRuleLists {
		return nil
	}
	has := s.state.rules[o.name]
	first, last := 0, 0
	for first < min(len(has), len(o.rules)) && has[first] == o.rules[first] {
		first++
	}
	for last < min(len(has), len(o.rules))-first && has[len(has)-1-last] == o.rules[len(o.rules)-1-last] {
		last++
	}
	added := o.rules[first : len(o.rules)-last]
	for i, rule := range added {
		err := s.post(ctx, "rule", rule, restRuleLists, o.name, restRules, fmt.Sprint(first+i))
		if err != nil {
			return err
		}
	}
	behind := fmt.Sprint(first + len(added))
	for range len(has) - last - first {
		if _, err := s.do(ctx, http.MethodDelete, nil, []string{restRuleLists, o.name, restRules, behind}); err != nil {
			return err
		}
	}
	s.state.rules[o.name] = slices.Clone(o.rules)
	return nil
}
