package native

import (
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// clusterName returns the name of the cluster of a destination. Names of the proxy have no white space.
func clusterName(destination string) string { return strings.ReplaceAll(destination, " ", "_") }

// RenderDestination returns the cluster of a destination, with its endpoints.
func (Driver) RenderDestination(r model.ResolvedDestination) []sidecar.Resource {
	d := &r.Destination
	if local, is := localProtocols[d.Protocol]; is {
		return []sidecar.Resource{localCluster(d, local)}
	}
	of, known := protocols[d.Protocol]
	if !known {
		return nil // the feature has a finding
	}
	out := config.Cluster{
		Name:         clusterName(d.Name),
		Spec:         config.ClusterSpec{Protocol: of, Port: int(d.Port), HTTP2: d.Protocol == model.HTTP2 || d.Protocol == model.GRPC},
		Endpoints:    endpoints(r),
		LoadBalancer: config.LoadBalancer{Policy: config.RoundRobin},
		HealthCheck:  healthCheck(d.HealthCheck),
		Outlier:      outlier(d.OutlierDetection),
	}
	if d.Protocol == model.Unix || d.Transport == model.Unix {
		out.Spec.Port = 0
	}
	if d.SendTimeout > 0 {
		out.Spec.SendTimeout = max(1, milliseconds(d.SendTimeout))
	}
	out.Spec.TLS = clientTLS(d.TLS)
	out.EachAddress = d.Discovery.Kind == model.DiscoverDNSEndpoints
	named := d.Discovery.Kind == model.DiscoverDNS || out.EachAddress
	if named && (captured(d.Protocol) || d.Protocol == model.WebSocket) {
		out.Spec.Family = family(r.Mesh)
	}
	if d.Transport != "" {
		below := out.Spec
		below.Protocol = protocols[d.Transport]
		out.Spec = config.ClusterSpec{Protocol: of, Transport: &below, Header: headerRules(d.Header)}
	}
	if d.Balance.Policy == model.ConsistentHash {
		out.LoadBalancer = config.LoadBalancer{Policy: config.ConsistentHash, Key: d.Balance.HashKey}
	}
	out.Limits = limits(d.Limits)
	panics := int(d.PanicThreshold)
	out.LoadBalancer.PanicThreshold = &panics
	return []sidecar.Resource{encode("cluster/"+out.Name, &config.Config{Clusters: []config.Cluster{out}}, d.Origin)}
}

// localCluster returns the cluster of a destination that the proxy serves itself.
func localCluster(d *model.Destination, of config.Protocol) sidecar.Resource {
	out := config.Cluster{Name: clusterName(d.Name), Spec: config.ClusterSpec{
		Protocol: of, Query: d.Local.Query, LogFile: d.Local.LogFile, LogPrefix: d.Local.LogPrefix,
	}}
	return encode("cluster/"+out.Name, &config.Config{Clusters: []config.Cluster{out}}, d.Origin)
}

// headerRules returns what a cluster of JSONSocket sends before the data.
func headerRules(fields []model.HeaderField) []config.HeaderRule {
	var out []config.HeaderRule
	for _, f := range fields {
		if f.From != "" {
			out = append(out, config.HeaderRule{Path: &config.HeaderPath{From: f.From, To: f.To}})
		} else {
			out = append(out, config.HeaderRule{Set: &config.HeaderSet{Key: f.To, Value: f.Value}})
		}
	}
	return out
}

// endpoints returns the addresses of the instances, the fixed ones, or the host name.
func endpoints(r model.ResolvedDestination) []config.Endpoint {
	d := &r.Destination
	var out []config.Endpoint
	switch d.Discovery.Kind {
	case model.DiscoverInstances:
		for _, e := range r.Endpoints {
			for _, a := range e.Addresses[:min(1, len(e.Addresses))] {
				one := config.Endpoint{Spec: config.EndpointSpec{Address: a.String()}}
				if port := d.PortAt(e); port != d.Port {
					one.Spec.Port = int(port)
				}
				if weight := d.WeightAt(e); weight != 1 {
					one.Weight = proxyWeight(weight)
				}
				out = append(out, one)
			}
		}
		out = append(out, fixed(d.Discovery.Addresses)...)
	case model.DiscoverStatic:
		out = fixed(d.Discovery.Addresses)
	case model.DiscoverDNS, model.DiscoverDNSEndpoints:
		out = append(out, config.Endpoint{Spec: config.EndpointSpec{Address: d.Discovery.LookupName()}})
	}
	return out
}

// fixed returns endpoints at configured addresses.
func fixed(all []model.StaticAddress) []config.Endpoint {
	var out []config.Endpoint
	for _, a := range all {
		one := config.Endpoint{Spec: config.EndpointSpec{Address: a.Host}}
		if a.Socket != "" {
			one.Spec.Address = a.Socket
		}
		if a.Weight > 0 {
			one.Weight = proxyWeight(a.Weight)
		}
		out = append(out, one)
	}
	return out
}

// proxyWeight returns a weight of an endpoint.
func proxyWeight(weight uint32) *int {
	out := int(min(weight, maxWeight))
	return &out
}

// maxWeight is the greatest weight of an endpoint.
const maxWeight = 1_000_000

// checks are the protocols of health checks.
var checks = map[model.Protocol]string{
	model.HTTP: "HTTP", model.HTTP2: "HTTP", model.GRPC: "gRPC", model.TCP: "TCP",
}

func healthCheck(h *model.HealthCheck) *config.HealthCheck {
	if h == nil {
		return nil
	}
	out := &config.HealthCheck{
		Protocol: checks[h.Protocol], Path: h.Path, Host: h.Host, Interval: max(10, milliseconds(h.Interval)),
		Timeout: max(1, milliseconds(h.Timeout)), Healthy: int(h.HealthyThreshold), Unhealthy: int(h.UnhealthyThreshold),
	}
	if out.Kind() == "HTTP" {
		out.Statuses = []int{200}
	}
	return out
}

func outlier(o *model.OutlierDetection) *config.Outlier {
	if o == nil {
		return nil
	}
	return &config.Outlier{
		Failures: int(o.ServerErrors), Time: max(1, milliseconds(o.BaseEjection)),
		MaxPercent: int(min(o.MaxEjectedPercent, 100)),
	}
}

// maxTime is the longest time of the proxy, in milliseconds.
const maxTime = 1_000_000_000

// milliseconds returns a time in the unit of the proxy.
func milliseconds(d model.Duration) int { return int(min(time.Duration(d).Milliseconds(), maxTime)) }
