package model_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

func featureNames(needs []model.Need) []string {
	var out []string
	for _, n := range needs {
		out = append(out, string(n.Feature))
	}
	return out
}

func TestNeeds(t *testing.T) {
	front := viewOf(t, shop(), "front")
	want := []string{
		"destination.grpc", "destination.http", "destination.tcp", "discovery.DNS", "egress.Deny", "egress.names",
		"listener.grpc", "listener.http", "listener.tcp", "listener.timeout",
		"route.chain", "route.match.method", "route.match.path.Exact", "route.match.path.Prefix",
		"route.rewrite", "route.timeout", "route.weights",
	}
	if got := featureNames(front.Needs()); !slices.Equal(got, want) {
		t.Errorf("got needs\n%v\nwant\n%v", got, want)
	}
}

// A view that uses everything needs all features of AllFeatures, except for alternatives, and no others.
func TestEveryNeedIsAFeature(t *testing.T) {
	known := model.AllFeatures()
	if !slices.IsSorted(known) || len(slices.Compact(slices.Clone(known))) != len(known) {
		t.Error("AllFeatures is not sorted or has duplicates")
	}
	v := model.View{
		Mesh: model.Mesh{Egress: model.EgressAllow},
		Inbound: []model.Inbound{
			{Listener: model.Listener{Protocol: model.HTTP, Router: "r", CircuitBreaker: &model.CircuitBreaker{}, HealthCheck: &model.ListenerHealthCheck{}, Timeouts: model.Timeouts{Idle: 1}, TLS: &model.ServerTLS{
				Mode:        model.TLSStrict,
				Certificate: &model.Certificate{Secret: model.Secret{Provider: model.ProviderMesh, Name: "spiffe://m/one"}},
				Hosts:       []model.HostCertificate{{Certificate: model.Certificate{Secret: model.Secret{Provider: model.ProviderKubernetes}}}},
				Validation:  &model.Validation{TrustSecret: model.Secret{Provider: model.ProviderSocket, Name: "spiffe://n"}},
			}}},
		},
		AuthorizationPolicies: []model.AuthorizationPolicy{{Ingress: &model.IngressClients{}}},
		OutboundView: model.OutboundView{Destinations: []model.Destination{
			{Protocol: model.Unix, Discovery: model.Discovery{Kind: model.DiscoverStatic}, Balance: model.Balance{Policy: model.ConsistentHash},
				HealthCheck: &model.HealthCheck{Protocol: model.GRPC}, OutlierDetection: &model.OutlierDetection{}, PanicThreshold: 50},
		}},
		Workload: model.Workload{
			TrustedHops: 1, AccessLog: &model.AccessLog{Path: model.LogOutput, Text: "x"}, Authorize: true,
			EgressRules: []model.EgressRule{
				{Addresses: make([]netip.Prefix, 1)}, {ServerNames: []string{"x"}}, {Port: 1},
			},
		},
	}
	all := model.Route{
		Match: model.Match{
			Hosts: []string{"h"}, Path: model.StringMatch{Kind: model.Suffix}, Method: "GET", Scheme: "http",
			Headers: []model.FieldMatch{{Kind: model.Range}}, Query: []model.FieldMatch{{Kind: model.Present}},
			Predicate: &model.Predicate{},
		},
		Clients: &model.ClientRanges{},
		Action: model.Action{
			Destinations: make([]model.WeightedDestination, 2), Service: &model.ServiceTarget{},
			ForwardChain: []string{"i"}, Convert: true, Redirect: &model.Redirect{},
			Rewrite:  &model.Rewrite{Host: "h", Metadata: make([]model.MetadataSet, 1)},
			Retry:    model.Retry{Conditions: []model.RetryCondition{model.RetryReset}, StatusCodes: []uint16{503}, Pause: 1},
			Timeouts: model.Timeouts{Request: 1},
		},
	}
	v.Inbound[0].Routes = []model.Route{all}
	got := v.Needs()
	for _, n := range got {
		if !slices.Contains(known, n.Feature) {
			t.Errorf("the need %s is not in AllFeatures", n.Feature)
		}
	}
	for _, f := range known {
		alternative := strings.HasPrefix(string(f), "listener.") || strings.HasPrefix(string(f), "destination.") ||
			strings.HasPrefix(string(f), "accessLog") ||
			strings.HasPrefix(string(f), "discovery.") || strings.HasPrefix(string(f), "healthCheck.") ||
			strings.HasPrefix(string(f), "egress.") || strings.HasPrefix(string(f), "route.retry.") || strings.Count(string(f), ".") == 3
		if !alternative && !slices.ContainsFunc(got, func(n model.Need) bool { return n.Feature == f }) {
			t.Errorf("the view does not need %s", f)
		}
	}
}

// The providers of the secrets of each destination are needs, even if destinations differ in nothing else.
func TestNeedsOfSecrets(t *testing.T) {
	to := func(name string, p model.SecretProvider) model.Destination {
		return model.Destination{Key: model.Key{Name: name}, TLS: &model.ClientTLS{
			Certificate: &model.Certificate{Secret: model.Secret{Provider: p, Name: "spiffe://m/one"}},
		}}
	}
	v := model.OutboundView{Destinations: []model.Destination{to("a", model.ProviderMesh), to("b", model.ProviderSocket)}}
	got := featureNames(v.Needs())
	for _, want := range []string{"tls.secret.Mesh", "tls.secret.Socket"} {
		if !slices.Contains(got, want) {
			t.Errorf("the needs %v are without %s", got, want)
		}
	}
}

// The finding names the first field that requires the feature.
func TestUnsupportedNamesTheField(t *testing.T) {
	at := func(path string) model.Origin {
		return model.NewOrigin(model.ObjectRef{Kind: "VirtualRouter", Namespace: "n", Name: "r"}).At(path)
	}
	v := model.View{Mesh: model.Mesh{Egress: model.EgressDeny}, OutboundView: model.OutboundView{Outbound: []model.Outbound{{Bindings: []model.Binding{{Protocol: model.HTTP, Routes: []model.Route{
		{Match: model.Match{Method: "GET"}, Origin: at("spec.routes[0]")}, {Match: model.Match{Method: "GET"}, Origin: at("spec.routes[1]")},
	}}}}}}}
	supports := map[model.Feature]bool{"listener.http": true, "egress.Deny": true}
	findings := model.Unsupported("pipy", v.Needs(), supports)
	if len(findings) != 1 || findings[0].Code != model.CodeNotSupported || findings[0].Path != "spec.routes[0]" ||
		!strings.Contains(findings[0].Text, "pipy") || !strings.Contains(findings[0].Text, "route.match.method") {
		t.Errorf("got findings %v", findings)
	}
	supports["route.match.method"] = true
	if findings := model.Unsupported("pipy", v.Needs(), supports); len(findings) != 0 {
		t.Errorf("all features are supported: got findings %v", findings)
	}
}
