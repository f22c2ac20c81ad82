package l7mp

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/model"
)

// listener is the listener of a VirtualService. It does not depend on the rules, so that a change of them affects no
// workload.
type listener struct {
	transport
	name types.NamespacedName
	// track is how long ended sessions are listed. endSessions is true if they end with the listener.
	track       model.Duration
	endSessions bool
	origin      model.Origin
}

// virtualService is a VirtualService.
type virtualService struct {
	listener
	rules []rule
	// proxied is true if it has rules: its pods need a proxy.
	proxied bool
	// usable is false if the listener has no effect. Findings say why.
	usable bool
	// selector selects the pods.
	selector *selector
}

// rule is a rule of a VirtualService.
type rule struct {
	name string
	// matches are the alternatives of the match.
	matches []model.Match
	rewrite *model.Rewrite
	// route is where connections go; nil for a route with a name, or one with an error.
	route *route
	// named is the name of a Route.
	named  types.NamespacedName
	origin model.Origin
}

// apiPort is the TCP port of the API of the proxy.
const apiPort = 1234

// virtualService reads a VirtualService, what its selector selects, and its clusters without a name.
func (p *parser) virtualService(v *api.VirtualService) (*virtualService, []selection, []inlineCluster) {
	out := &virtualService{listener: listener{name: nameOf(v), origin: p.at}}
	out.transport, out.usable = p.transport(v.Spec.Listener.Spec.Raw, "spec.listener.spec")
	if out.protocol.Local() || len(out.header) > 0 {
		p.report("spec.listener.spec", model.CodeInvalidField, "is a protocol, or has a parameter, of clusters only")
		out.usable = false
	}
	if out.protocol == model.Unix && out.socket == "" {
		p.report("spec.listener.spec", model.CodeInvalidField, "filename is missing")
		out.usable = false
	}
	p.options(v, &out.listener)
	spoken, _ := out.spoken()
	inline := &inlineClusters{prefix: "virtualservice/" + out.name.String()}
	below := len(v.Spec.Listener.Rules)
	for i, r := range slices.Concat(v.Spec.Listener.Rules, v.Spec.Rules) {
		path := fmt.Sprintf("spec.listener.rules[%d]", i)
		if i >= below { // some place rules beside the listener
			path = fmt.Sprintf("spec.rules[%d]", i-below)
		}
		if one, ok := p.rule(r, spoken, path, inline); ok {
			one.name = fmt.Sprintf("rules[%d]", i)
			out.rules = append(out.rules, one)
		}
	}
	out.proxied = below+len(v.Spec.Rules) > 0 || v.Spec.Listener.RulesRef != ""
	if out.proxied && out.usable && out.network() == model.TCP && out.port == apiPort {
		f := model.NewFinding(p.at.At("spec.listener.spec"), model.CodePortConflict, fmt.Sprintf(
			"TCP port %d of %s is the port of the API of the proxy", apiPort, p.at.Object()))
		f.Severity = model.Warning
		p.findings = append(p.findings, f)
	}
	of := v.Spec.Selector
	if of == nil {
		of = &api.Selector{MatchService: out.name.Name}
	}
	out.selector = p.selector(of, out.name.Namespace, "spec.selector")
	if out.proxied && out.usable {
		inline.selections = append(inline.selections, selection{
			selector: out.selector, listener: &out.listener, origin: p.at.At("spec.selector"),
		})
	}
	return out, inline.selections, inline.clusters
}

// options reads the options of the listener, which some place beside it.
func (p *parser) options(v *api.VirtualService, to *listener) {
	if v.Spec.Listener.RulesRef != "" {
		p.report("spec.listener.rulesRef", model.CodeReferenceNotFound,
			"there are no objects for lists of rules; write the rules below spec.listener.rules")
	}
	if v.Spec.UpdateOwners {
		p.report("spec.updateOwners", model.CodeInvalidField, "has no effect: the condition Accepted says what is applied")
	}
	for path, o := range map[string]*api.ListenerOptions{
		"spec.listener.options": v.Spec.Listener.Options, "spec.options": v.Spec.Options,
	} {
		if o == nil {
			continue
		}
		if o.Track < 0 {
			p.report(path+".track", model.CodeInvalidField, "must be a number of seconds")
			continue
		}
		to.track = max(to.track, model.Duration(o.Track)*model.Duration(time.Second))
		to.endSessions = to.endSessions || o.RemoveOrphanSessions
	}
}

// rule reads a rule. It reports false for a rule that matches nothing.
func (p *parser) rule(of api.Rule, protocol model.Protocol, path string, inline *inlineClusters) (rule, bool) {
	out := rule{origin: p.at.At(path)}
	var ok bool
	if out.matches, ok = p.match(of.Match, protocol, path+".match"); !ok {
		return rule{}, false
	}
	out.rewrite = p.rewrite(of.Action.Rewrite, protocol, path+".action.rewrite")
	action := path + ".action"
	switch a := of.Action; {
	case a.Apply != "":
		p.report(action+".apply", model.CodeReferenceNotFound,
			"there are no objects for lists of rules; connections that match are closed")
	case a.RouteRef != "":
		ref, ok := p.reference(a.RouteRef, api.KindRoute, action+".routeRef")
		if ok {
			out.named = ref.NamespacedName
		}
	case a.Route == nil:
		p.report(action+".route", model.CodeInvalidField, "is missing; connections that match are closed")
	default:
		if name, is := text(a.Route.Raw); is {
			if ref, ok := p.reference(name, api.KindRoute, action+".route"); ok {
				out.named = ref.NamespacedName
			}
			break
		}
		var spec api.RouteSpec
		if p.decode(a.Route.Raw, &spec, action+".route") {
			out.route = p.route(&spec, action+".route", inline)
		}
	}
	return out, true
}
