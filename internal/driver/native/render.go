package native

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// protocols are the protocols of listeners and clusters.
var protocols = map[model.Protocol]config.Protocol{
	model.HTTP: config.HTTP, model.HTTP2: config.HTTP, model.GRPC: config.HTTP, model.TCP: config.TCP,
	model.UDP: config.UDP, model.WebSocket: config.WebSocket, model.Unix: config.UnixDomainSocket,
	model.JSONSocket: config.JSONSocket,
}

// The proxy ends sessions of UDP as the model says: this compiles if both times are equal.
var _ = [1]struct{}{}[config.UDPIdle-time.Duration(model.UDPIdle)]

// localProtocols are the protocols of clusters that the proxy serves itself.
var localProtocols = map[model.Protocol]config.Protocol{
	model.Discard: config.Discard, model.Echo: config.Echo, model.JSONDecap: config.JSONDecap,
	model.JSONEncap: config.JSONEncap, model.Logger: config.Logger, model.Prometheus: config.Prometheus,
	model.Sync: config.Sync,
}

// Render returns a resource for each listener, one for each service that a sidecar reaches, and one for the metrics.
func (d Driver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	r := renderer{view: v}
	r.add(statsResource, &config.Config{
		Admin:     r.admin(v.Workload.AccessLog),
		Listeners: []config.Listener{statsListener()}, RuleLists: []config.RuleList{{Name: noRoute, Rules: []config.RuleRef{}}},
	}, v.Workload.Origin)
	for _, in := range v.Inbound {
		if v.Workload.Role == model.RoleGateway {
			r.listener(in)
		} else {
			r.inbound(in.Listener)
		}
	}
	if v.Workload.Role != model.RoleGateway {
		r.outbound()
	} else {
		r.services()
	}
	return r.resources, model.SortFindings(r.findings)
}

type renderer struct {
	view      *model.View
	resources []sidecar.Resource
	findings  []model.Finding
}

// add adds a resource.
func (r *renderer) add(name string, c *config.Config, origins ...model.Origin) {
	r.resources = append(r.resources, encode(name, c, origins...))
}

func encode(name string, c *config.Config, origins ...model.Origin) sidecar.Resource {
	body, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("native: %s does not encode: %v", name, err)) // all values of the model can be encoded as JSON
	}
	return sidecar.Resource{Type: config.ResourceType, Name: name, Body: body, Origins: origins}
}

// statsResource is the name of the resource of the listener for metrics.
const statsResource = "stats"

// noRoute is a list of rules that matches nothing.
const noRoute = "anymesh-no-route"

// statsListener serves metrics and readiness.
func statsListener() config.Listener {
	return config.Listener{
		Name: "anymesh-stats", Spec: config.ListenerSpec{Protocol: config.HTTP, Port: defaultStatsPort},
		Rules: config.RulesRef{Inline: []config.RuleRef{{Inline: &config.Rule{Action: config.Action{
			Route: toCluster(config.ClusterRef{Inline: &config.Cluster{Spec: config.ClusterSpec{Protocol: config.Prometheus}}}),
		}}}}},
	}
}

func toCluster(c config.ClusterRef) *config.RouteRef {
	return &config.RouteRef{Inline: &config.Route{Destination: c}}
}

// listener renders a listener with its rules.
func (r *renderer) listener(in model.Inbound) {
	l := in.Listener
	of, known := protocols[l.Protocol]
	if !known || l.Router == "" && !l.Protocol.Requests() {
		return // the feature has a finding, or no service gets the streams
	}
	r.checkListener(l)
	out := config.Listener{
		Name: fmt.Sprintf("%s:%d", strings.ToLower(string(of)), l.Port),
		Spec: config.ListenerSpec{Protocol: of, Port: int(l.Port)},
		Options: config.ListenerOptions{
			Track: int(time.Duration(l.TrackSessions).Seconds()), RemoveOrphanSessions: l.EndSessions,
			ConnectionRate: rate(l.ConnectionRate),
		},
	}
	if l.CircuitBreaker != nil || len(l.RequestRates) > 0 {
		r.findings = append(r.findings, model.NewFinding(l.Origin, model.CodeNotSupported,
			"driver native does not support limits of requests and of connections for listeners with routes; they limit nothing"))
	}
	tls, serves := serverTLS(l.TLS)
	if !serves {
		r.closed(out, l)
		return
	}
	out.Spec.TLS = tls
	origins := []model.Origin{l.Origin}
	if l.Socket != "" {
		out.Name, out.Spec.Filename = "unix:"+l.Socket, l.Socket
	}
	if l.Peer.IsValid() {
		out.Spec.Connect = &config.ConnectSpec{Address: l.Peer.Addr().String(), Port: int(l.Peer.Port())}
	}
	if l.Transport != "" {
		below := out.Spec
		below.Protocol = protocols[l.Transport]
		out.Spec = config.ListenerSpec{Protocol: of, Transport: &below}
	}
	if l.Router == "" {
		r.forwards(&out.Spec)
		list, services := r.byHost(out.Name, l.Port)
		out.Rules.Name = list.Name
		r.add("listener/"+out.Name, &config.Config{Listeners: []config.Listener{out}, RuleLists: []config.RuleList{list}},
			append(origins, services...)...)
		return
	}
	out.Rules.Inline = []config.RuleRef{}
	for _, route := range in.Routes {
		if route.Action.Service != nil || route.Clients != nil {
			r.forwards(&out.Spec)
		}
		if rule := r.rule(route, r.view.Workload.Role == model.RoleGateway); rule != nil {
			out.Rules.Inline = append(out.Rules.Inline, withClients(route, rule)...)
			origins = append(origins, route.Origin)
		}
	}
	r.add("listener/"+out.Name, &config.Config{Listeners: []config.Listener{out}}, origins...)
}

// closed renders a listener that closes connections.
func (r *renderer) closed(out config.Listener, l model.Listener) {
	out.Spec.Protocol = config.TCP
	out.Rules.Inline = []config.RuleRef{{Inline: &config.Rule{Action: config.Action{Deny: true}}}}
	r.add("listener/"+out.Name, &config.Config{Listeners: []config.Listener{out}}, l.Origin)
}

// rule renders a route; nil for one that is left out, with a finding. Routes of services have the retries and timeouts
// of sidecars, also in gateways.
func (r *renderer) rule(route model.Route, gateway bool) *config.Rule {
	match, ok := predicateOf(route.Match)
	if !ok {
		r.skip(route, "its conditions are not supported")
		return nil
	}
	out := &config.Rule{Match: match}
	action := route.Action
	if to := action.Redirect; to != nil {
		out.Action.Redirect = &config.Redirect{Scheme: to.Scheme, Host: to.Host, Status: int(to.StatusCode)}
		return out
	}
	if action.Rewrite != nil {
		out.Action.Rewrite = rewrites(*action.Rewrite, route.Match.Path)
	}
	if action.Service != nil {
		out.Action.Apply = r.serviceRules(*action.Service)
		return out
	}
	var to []model.WeightedDestination
	for _, d := range action.Destinations {
		if d.Weight > 0 {
			to = append(to, d)
		}
	}
	if len(to) == 0 { // connections are refused
		return &config.Rule{Match: match, Action: config.Action{Apply: noRoute}}
	}
	of := &config.Route{
		Ingress: chain(action.ForwardChain), Egress: chain(action.ReverseChain),
		Retry: gatewayRetry(action.Retry), Timeouts: timeouts(action),
	}
	if !gateway {
		of.Retry, of.Timeouts = retry(action.Retry, connectTimeout), explicitTimeouts(action)
	}
	if len(to) == 1 {
		of.Destination.Name = clusterName(to[0].Destination)
	} else {
		of.Destinations = weighted(to)
	}
	out.Action.Route = &config.RouteRef{Inline: of}
	return out
}

// weighted returns several destinations with their weights, which are scaled down to the greatest of the proxy.
func weighted(all []model.WeightedDestination) []config.WeightedCluster {
	greatest := uint64(maxWeight)
	for _, d := range all {
		greatest = max(greatest, uint64(d.Weight))
	}
	var out []config.WeightedCluster
	for _, d := range all {
		weight := int(max(1, uint64(d.Weight)*maxWeight/greatest))
		out = append(out, config.WeightedCluster{
			Destination: config.ClusterRef{Name: clusterName(d.Destination)}, Weight: &weight,
		})
	}
	return out
}

func (r *renderer) skip(route model.Route, why string) {
	r.findings = append(r.findings, model.NewFinding(route.Origin, model.CodeNotSupported,
		fmt.Sprintf("the driver %s leaves out the route %s: %s", Name, route.Name, why)))
}

func chain(names []string) []config.ClusterRef {
	var out []config.ClusterRef
	for _, name := range names {
		out = append(out, config.ClusterRef{Name: clusterName(name)})
	}
	return out
}

func timeouts(of model.Action) config.Timeouts {
	out := config.Timeouts{Request: milliseconds(of.Timeouts.Request), Attempt: milliseconds(of.Retry.PerTry)}
	if of.Timeouts.Idle > 0 {
		idle := milliseconds(of.Timeouts.Idle)
		out.Idle = &idle
	}
	return out
}
