package install

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Each port of the control plane and of the aggregator has one rule, with its peers.
func TestNetworkPolicy(t *testing.T) {
	for _, o := range renderWith(t, `{}`) {
		if o.GetKind() == "NetworkPolicy" {
			t.Errorf("%s by default", o.GetName())
		}
	}
	objects := renderWith(t, `
networkPolicy:
  enabled: true
  apiServers: [{ipBlock: {cidr: 192.0.2.0/28}}]
  egress: [{to: [{ipBlock: {cidr: 198.51.100.0/24}}], ports: [{port: 8443}]}]
aggregator: {enabled: true}
traces: {endpoint: "http://collector.monitoring:4318"}
`)
	want := map[string]map[string]string{
		"anymesh": {"15128": "all pods", "15129": "all pods", "15130": "all pods", "signing": "all pods", "names": "all pods",
			"webhooks": "192.0.2.0/28", "metrics": "monitoring"},
		"anymesh-aggregator": {"https": "everybody", "metrics": "monitoring"},
	}
	for name, want := range want {
		policy := typed[networkingv1.NetworkPolicy](t, find(t, objects, "NetworkPolicy", name))
		d := typed[appsv1.Deployment](t, find(t, objects, "Deployment", name))
		if !selects(policy.Spec.PodSelector.MatchLabels, d) {
			t.Errorf("%s selects %v", name, policy.Spec.PodSelector.MatchLabels)
		}
		got := map[string]string{}
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				got[port.Port.String()] = peers(rule.From)
			}
		}
		for port, from := range want {
			if got[port] != from {
				t.Errorf("%s: port %s is open for %q, want %q", name, port, got[port], from)
			}
		}
		if ports := d.Spec.Template.Spec.Containers[0].Ports; len(got) != len(want) || len(ports) != len(want) {
			t.Errorf("%s has the ports %v, and rules for %v", name, ports, got)
		}
	}
	var out []string
	for _, rule := range typed[networkingv1.NetworkPolicy](t, find(t, objects, "NetworkPolicy", "anymesh")).Spec.Egress {
		for _, port := range rule.Ports {
			out = append(out, peers(rule.To)+" "+port.Port.String())
		}
	}
	if !slices.Equal(out, []string{"everybody 53", "everybody 53", "everybody 443", "everybody 6443", "everybody 4318",
		"198.51.100.0/24 8443"}) {
		t.Errorf("connections to %v", out)
	}
}

// peers describes the peers of a rule.
func peers(list []networkingv1.NetworkPolicyPeer) string {
	var out []string
	for _, p := range list {
		switch {
		case p.IPBlock != nil:
			out = append(out, p.IPBlock.CIDR)
		case len(p.NamespaceSelector.MatchLabels) == 0:
			out = append(out, "all pods")
		default:
			out = append(out, p.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
		}
	}
	if len(out) == 0 {
		return "everybody"
	}
	return strings.Join(out, ", ")
}
