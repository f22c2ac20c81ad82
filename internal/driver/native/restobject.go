package native

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Classes of objects of the REST API of l7mp.
const (
	restListeners = "listeners"
	restClusters  = "clusters"
	restRuleLists = "rulelists"
	restRules     = "rules"
	restRoutes    = "routes"
)

// restKeys are the keys of objects in the bodies of requests.
var restKeys = map[string]string{
	restListeners: "listener", restClusters: "cluster", restRuleLists: "rulelist", restRules: "rule", restRoutes: "route",
}

// restPrefix begins the names of the objects that the driver makes; others are not its own.
const restPrefix = "anymesh/"

// restPort is the TCP port of the REST API.
const restPort = 1234

// restObject is an object of the REST API. Its name has a hash of what cannot be changed in place, so that an object
// with the name is the right one.
type restObject struct {
	class, name string
	body        map[string]any
	socket      string                    // of a listener
	rules       []string                  // of a rule list, which are changed in place
	endpoints   map[string]map[string]any // of a cluster, which are changed in place
	origins     []model.Origin
}

// restPlan is what a proxy should have.
type restPlan struct {
	objects map[string]map[string]*restObject // by class and name
	// clusters are the names of clusters in the API.
	clusters map[string]string
	findings []model.Finding
	// destinations are those that the plan has the endpoints of.
	destinations map[model.Key]bool
}

// newRestPlan returns the objects of a view for proxies with the REST API of l7mp. They have the fields that l7mp has;
// what it cannot do is left out, and has a finding.
func newRestPlan(v *model.View, resolve func(model.Key) (model.ResolvedDestination, bool)) *restPlan {
	p := &restPlan{objects: map[string]map[string]*restObject{}, clusters: map[string]string{}, destinations: map[model.Key]bool{}}
	for class := range restKeys {
		p.objects[class] = map[string]*restObject{}
	}
	for _, d := range v.Destinations {
		p.destinations[d.Key] = true
	}
	resources, _ := sidecar.Configuration(Driver{}, v, resolve) // the findings are reported for the workload
	parts := make([]config.Config, len(resources))
	for i, r := range resources {
		var value any
		err := json.Unmarshal(r.Body, &value)
		if err == nil {
			err = config.Decode("", value, &parts[i])
		}
		if err != nil {
			panic(fmt.Sprintf("native: %s does not decode: %v", r.Name, err)) // Render has encoded it
		}
		for _, c := range parts[i].Clusters {
			p.cluster(c, r.Origins)
		}
	}
	p.add(&restObject{class: restRuleLists, name: restPrefix + noRoute})
	for i, r := range resources {
		if r.Name != statsResource { // l7mp has no readiness, and metrics by a listener that users write
			for _, l := range parts[i].Listeners {
				p.listener(l, r.Origins)
			}
		}
	}
	return p
}

func (p *restPlan) add(o *restObject) string {
	if o.body == nil {
		o.body = map[string]any{}
	}
	o.body["name"] = o.name
	p.objects[o.class][o.name] = o
	return o.name
}

func (p *restPlan) unsupported(origins []model.Origin, what string) {
	for _, o := range origins {
		p.findings = append(p.findings, model.NewFinding(o, model.CodeNotSupported,
			"proxies that are configured over their REST API have no "+what+"; it is left out"))
	}
}

// cluster adds a cluster. Its endpoints have names of their own: they must be unique in the whole proxy.
func (p *restPlan) cluster(c config.Cluster, origins []model.Origin) {
	if c.Spec.Protocol == config.HTTP || c.Spec.TLS != nil {
		p.unsupported(origins, "clusters with HTTP or TLS")
		return
	}
	o := &restObject{class: restClusters, origins: origins, endpoints: map[string]map[string]any{}}
	o.body = map[string]any{"spec": jsonObject(c.Spec)}
	if !c.Spec.Protocol.Pseudo() {
		// Without a key, an endpoint is chosen at random: l7mp has no other policy that uses them all.
		balancer := map[string]any{"policy": config.ConsistentHash}
		if c.LoadBalancer.Key != "" {
			balancer["key"] = c.LoadBalancer.Key
		}
		o.body["loadbalancer"] = balancer
	}
	o.name = hashed("cluster/"+c.Name, withWeights(o.body, c.Endpoints))
	for _, e := range c.Endpoints {
		weight := e.EffectiveWeight()
		name := fmt.Sprintf("%s/%s%s%d", o.name, e.Spec.Address, weightMark, weight)
		o.endpoints[name] = map[string]any{
			"name": name, "spec": map[string]any{"address": e.Spec.Address}, "weight": weight,
		}
	}
	p.clusters[c.Name] = p.add(o)
}

// weightMark is between the address and the weight of an endpoint in its name.
const weightMark = "*"

// withWeights returns what the name of a cluster has a hash of: its body, and the weights that are not 1. The API
// cannot change a weight, and an endpoint that another one replaces loses its sessions; those of a cluster stay.
func withWeights(body map[string]any, endpoints []config.Endpoint) map[string]any {
	weights := map[string]int{}
	for _, e := range endpoints {
		if w := e.EffectiveWeight(); w != 1 {
			weights[e.Spec.Address] = w
		}
	}
	if len(weights) == 0 {
		return body
	}
	out := maps.Clone(body)
	out["weights"] = weights
	return out
}

// listener adds a listener and its rules.
func (p *restPlan) listener(l config.Listener, origins []model.Origin) {
	if l.Spec.TLS != nil || l.Spec.Captured != nil {
		p.unsupported(origins, "listeners with TLS or capture")
		return
	}
	list := &restObject{class: restRuleLists, name: restPrefix + "rules/" + l.Name, origins: origins}
	for _, r := range l.Rules.Inline {
		if name := p.rule(list.name, r.Inline, origins); name != "" {
			list.rules = append(list.rules, name)
		}
	}
	o := &restObject{class: restListeners, origins: origins, body: map[string]any{
		"spec": jsonObject(l.Spec), "rules": p.add(list), "options": map[string]any{"track": l.Options.Track},
	}}
	o.socket = restSocket(o.body["spec"].(map[string]any))
	if o.socket == fmt.Sprintf("tcp:%d", restPort) {
		p.unsupported(origins, fmt.Sprintf("listeners on TCP port %d, which is that of the API", restPort))
		return
	}
	o.name = hashed("listener/"+l.Name, o.body)
	p.add(o)
}

// rule adds a rule and its route, and returns its name.
func (p *restPlan) rule(list string, r *config.Rule, origins []model.Origin) string {
	action := map[string]any{}
	if len(r.Action.Rewrite) > 0 {
		action["rewrite"] = r.Action.Rewrite
	}
	switch to := r.Action.Route; {
	case to == nil:
		action = map[string]any{"apply": restPrefix + noRoute}
	case len(to.Inline.Destinations) > 0:
		p.unsupported(origins, "routes with several weighted destinations")
		action = map[string]any{"apply": restPrefix + noRoute}
	default:
		action["route"] = p.route(list, to.Inline, origins)
	}
	o := &restObject{class: restRules, origins: origins, body: map[string]any{"action": action}}
	if r.Match != nil {
		o.body["match"] = r.Match
	}
	o.name = hashed(list, o.body)
	return p.add(o)
}

func (p *restPlan) route(list string, r *config.Route, origins []model.Origin) string {
	o := &restObject{class: restRoutes, origins: origins, body: map[string]any{
		"destination": p.clusterName(r.Destination), "ingress": p.chain(r.Ingress), "egress": p.chain(r.Egress),
		"retry": restRetry(r.Retry),
	}}
	o.name = hashed(list, o.body)
	return p.add(o)
}

// clusterName returns the name of a cluster in the API. One that is left out is a name of nothing: sessions fail.
func (p *restPlan) clusterName(c config.ClusterRef) string {
	if name := p.clusters[c.Name]; name != "" {
		return name
	}
	return restPrefix + "cluster/" + c.Name
}

func (p *restPlan) chain(of []config.ClusterRef) []string {
	out := []string{}
	for _, c := range of {
		out = append(out, p.clusterName(c))
	}
	return out
}

// restRetry returns all fields: l7mp has no defaults for some of them.
func restRetry(r config.Retry) map[string]any {
	out := map[string]any{"retry_on": "never", "num_retries": 1, "timeout": 2000}
	if r.RetryOn != "" {
		out["retry_on"] = r.RetryOn
	}
	if r.NumRetries != nil {
		out["num_retries"] = *r.NumRetries
	}
	if r.Timeout != nil {
		out["timeout"] = *r.Timeout
	}
	return out
}

// restSocket returns the socket of the specification of a listener; listeners with the same one clash.
func restSocket(spec map[string]any) string {
	for _, key := range []string{"transport", "transport_spec"} {
		if below, is := spec[key].(map[string]any); is {
			return restSocket(below)
		}
	}
	switch spec["protocol"] {
	case string(config.UnixDomainSocket):
		return fmt.Sprintf("unix:%v", spec["filename"])
	case string(config.UDP):
		return fmt.Sprintf("udp:%v", spec["port"])
	}
	return fmt.Sprintf("tcp:%v", spec["port"])
}

// hashed returns the name of an object with a hash of its content.
func hashed(name string, body map[string]any) string {
	text, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("native: %s does not encode: %v", name, err)) // it has values of JSON
	}
	sum := sha256.Sum256(text)
	if !strings.HasPrefix(name, restPrefix) {
		name = restPrefix + name
	}
	return name + "/" + hex.EncodeToString(sum[:6])
}

// jsonObject returns a value of the configuration as an object of JSON.
func jsonObject(v any) map[string]any {
	text, err := json.Marshal(v)
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("native: %v does not encode: %v", v, err)) // it was decoded from JSON
	}
	return out
}
