package route

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/snapshot"
)

// named is a provider with names that the cluster has or not.
type named struct {
	printing
	names   []string
	present bool
}

func (n named) Names() []string              { return n.names }
func (n named) Present(provider.Reader) bool { return n.present }

// classy is a provider of the class c.
type classy struct{ named }

func (classy) ServesClass(name string, _ provider.Reader) bool { return name == "c" }

func TestChoice(t *testing.T) {
	providers := func(present ...string) (out []provider.Provider) {
		for _, names := range [][]string{{"ours"}, {"gateway"}, {"nginx", "nginx-ingress"}} {
			out = append(out, named{names: names, present: strings.Contains(strings.Join(present, " "), names[0])})
		}
		return out
	}
	for name, c := range map[string]struct {
		planner    Planner
		spec, want string
		class      string
	}{
		"named":                      {Planner{Providers: providers("gateway")}, "nginx-ingress", "nginx, named by spec.provider", ""},
		"the default":                {Planner{Providers: providers("gateway"), Default: "nginx"}, "", "nginx, the default", ""},
		"named, not the default":     {Planner{Providers: providers(), Default: "nginx"}, "gateway", "gateway, named by spec.provider", ""},
		"the first that is present":  {Planner{Providers: providers("nginx", "gateway")}, "", "gateway, which the cluster has", ""},
		"that of the class":          {Planner{Providers: append(providers("ours"), classy{named{names: []string{"x"}}})}, "", "x, which serves spec.ingressClass c", "c"},
		"a class of nobody":          {Planner{Providers: append(providers("ours"), classy{named{names: []string{"x"}}})}, "", "ours, which the cluster has", "d"},
		"the default, not the class": {Planner{Providers: append(providers("ours"), classy{named{names: []string{"x"}}}), Default: "ours"}, "", "ours, the default", "c"},
		"none is present":            {Planner{Providers: providers()}, "", "ours, because the cluster has no other", ""},
		"unknown":                    {Planner{Providers: providers()}, "traefik", `spec.provider: unknown provider "traefik"; use one of ours, gateway, nginx, nginx-ingress`, ""},
		"an unknown default":         {Planner{Providers: providers(), Default: "x"}, "", `the setting routeTrait.provider: unknown provider "x"; use one of ours, gateway, nginx, nginx-ingress`, ""},
		"no providers":               {Planner{}, "", `this control plane has no provider; set spec.host to "" for a Service only`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, why, failure := c.planner.choose(c.spec, c.class, snapshot.Cluster{})
			if failure != nil {
				why = failure.Message
			} else if !strings.HasPrefix(why, chosen.Names()[0]) {
				t.Errorf("chosen is %v, the reason %q", chosen.Names(), why)
			}
			if why != c.want {
				t.Errorf("got %q, want %q", why, c.want)
			}
		})
	}
}
