package route

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// Description says what a Route means, for people.
type Description struct {
	// Host is in lower case. Local is set for a Route that has a Service only.
	Host  string `json:"host,omitempty"`
	Local bool   `json:"local,omitempty"`
	// Workload is nil if the Route has no reference to one.
	Workload *core.TypedReference `json:"workload,omitempty"`
	// Provider is the name of the provider, with the reason for the choice.
	Provider string `json:"provider,omitempty"`
	// Rules are in the order of the Route.
	Rules       []DescribedRule       `json:"rules,omitempty"`
	Certificate *DescribedCertificate `json:"certificate,omitempty"`
	// Objects are the objects that the Route needs, besides the Secret of its certificate.
	Objects     []core.TypedReference `json:"objects,omitempty"`
	Unsupported []UnsupportedField    `json:"unsupported,omitempty"`
	Addresses   []string              `json:"addresses,omitempty"`
	// Failure is why the Route has no objects. Needs is what other objects have to provide before it can be served.
	// Waiting is the first reason why it is not served yet, with the states of certificates and providers.
	Failure *provider.Reason `json:"failure,omitempty"`
	Needs   *provider.Reason `json:"needs,omitempty"`
	Waiting *provider.Reason `json:"waiting,omitempty"`
}

// DescribedRule is a rule of a Route.
type DescribedRule struct {
	Name          string            `json:"name,omitempty"`
	Path          string            `json:"path,omitempty"`
	Service       string            `json:"service"`
	Port          int32             `json:"port"`
	Found         discovery.Found   `json:"found"`
	RewriteTarget string            `json:"rewriteTarget,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	// Timeouts are durations of the format of Go, and empty for the default of the provider.
	ReadTimeout string `json:"readTimeout,omitempty"`
	SendTimeout string `json:"sendTimeout,omitempty"`
	// Default is the object of the default backend, "Service sorry".
	Default string `json:"defaultBackend,omitempty"`
}

// DescribedCertificate is the certificate of the host.
type DescribedCertificate struct {
	Secret string `json:"secret"`
	// Source is User, CertManager or BuiltIn.
	Source     string `json:"source"`
	IssuerName string `json:"issuerName,omitempty"`
	IssuerType string `json:"issuerType,omitempty"`
}

// UnsupportedField is a field that the provider does not honor.
type UnsupportedField struct {
	Field string `json:"field"`
	Text  string `json:"text"`
}

// Describe describes a Route, with the plan of the controller.
func (p *Planner) Describe(owner *unstructured.Unstructured, r discovery.Reader) Description {
	n := p.plan(owner, r)
	out := Description{
		Host: normalHost(n.route.Spec.Host), Local: isLocal(n.route.Spec.Host), Provider: n.choice, Addresses: n.addresses,
		Failure: n.failure, Needs: n.needs, Waiting: n.waiting,
	}
	if ref := n.route.Spec.WorkloadReference; ref != (core.TypedReference{}) {
		out.Workload = &ref
	}
	for i, b := range n.backends {
		rule := DescribedRule{Service: b.Service, Port: b.Port, Found: n.found[i]}
		if i < len(n.intent.Rules) {
			rule.fill(n.intent.Rules[i])
		}
		out.Rules = append(out.Rules, rule)
	}
	if n.failure == nil {
		for _, o := range n.objects {
			out.Objects = append(out.Objects, reference(o, controller.Outcome{}))
		}
	}
	if c, tls := n.certificate, n.route.Spec.TLS; c.Secret != "" {
		out.Certificate = &DescribedCertificate{Secret: c.Secret, Source: c.Source, IssuerName: tls.IssuerName}
		if tls.IssuerName != "" {
			out.Certificate.IssuerType = issuerOf(*tls).Type
		}
	}
	for _, u := range n.unsupported {
		out.Unsupported = append(out.Unsupported, UnsupportedField(u))
	}
	return out
}

func (d *DescribedRule) fill(rule provider.Rule) {
	d.Name, d.Path, d.RewriteTarget = rule.Name, rule.Path, rule.RewriteTarget
	for _, h := range rule.Headers {
		if d.Headers == nil {
			d.Headers = map[string]string{}
		}
		d.Headers[h.Name] = h.Value
	}
	for _, t := range []struct {
		value time.Duration
		into  *string
	}{{rule.ReadTimeout, &d.ReadTimeout}, {rule.SendTimeout, &d.SendTimeout}} {
		if t.value > 0 {
			*t.into = t.value.String()
		}
	}
	if rule.Default != nil {
		d.Default = rule.Default.Kind + " " + rule.Default.Name
	}
}
