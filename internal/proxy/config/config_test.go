package config

import (
	"strings"
	"testing"
)

func decode(text string) (*Config, error) {
	v, err := ParseYAML([]byte(text))
	if err != nil {
		return nil, err
	}
	c := new(Config)
	return c, Decode("", v, c)
}

// What is not supported is an error that names the object and the field.
func TestInvalidConfigurations(t *testing.T) {
	for text, want := range map[string]string{
		`listener: []`:           `listener: unknown field`,
		`listeners: {}`:          `listeners: must be a list, is an object`,
		`listeners: [{name: a}]`: `listeners[0] "a".spec: is required`,
		`listeners: [{name: a, spec: {protocol: TCP, port: 1}}]`:                                                         `listeners[0] "a".rules: is required`,
		`listeners: [{name: "a b", spec: {protocol: TCP, port: 1}, rules: x}]`:                                           `name: "a b": names have no white space`,
		`listeners: [{name: a, spec: {protocol: TCP, port: 70000}, rules: x}]`:                                           `listeners[0] "a".spec.port: must be from 1 to 65535, is 70000`,
		`listeners: [{name: a, spec: {protocol: TCP, port: 1.5}, rules: x}]`:                                             `spec.port: must be an integer, is a number`,
		`listeners: [{name: a, spec: {protocol: TCP, port: 1, address: host}, rules: x}]`:                                `spec.address: "host" is not an IP address`,
		`listeners: [{name: a, spec: {protocol: Echo}, rules: x}]`:                                                       `spec.protocol: "Echo" is not supported here; supported are HTTP, JSONSocket`,
		`listeners: [{name: a, spec: {UDP: {port: 1, prot: 2}}, rules: x}]`:                                              `spec.prot: unknown field`,
		`listeners: [{name: a, spec: {UDP: {port: 1, protocol: TCP}}, rules: x}]`:                                        `spec.UDP.protocol: is given by the name`,
		`listeners: [{name: a, spec: {protocol: UDP, port: 1, connect: {}}, rules: x}]`:                                  `spec.connect.address: address or port is required`,
		`listeners: [{name: a, spec: {protocol: UDP, port: 1, options: {mode: x}}, rules: x}]`:                           `spec.options.mode: "x" is none of`,
		`listeners: [{name: a, spec: {protocol: JSONSocket}, rules: x}]`:                                                 `spec.transport: is required`,
		`listeners: [{name: a, spec: {protocol: UnixDomainSocket}, rules: x}]`:                                           `spec.filename: is required`,
		`listeners: [{name: a, spec: {protocol: TCP, port: 1}, rules: x, options: {track: -1}}]`:                         `options.track: must not be negative`,
		`clusters: [{name: a, spec: {protocol: TCP}, endpoints: [{spec: {address: a}}]}]`:                                `clusters[0] "a".endpoints[0].spec.port: neither the cluster nor`,
		`clusters: [{name: a, spec: {protocol: TCP, port: 1}, endpoints: [{name: e, spec: {}}]}]`:                        `endpoints[0] "e".spec.address: is required`,
		`clusters: [{name: a, spec: {protocol: Echo}, endpoints: [{spec: {address: a}}]}]`:                               `endpoints: clusters of protocol Echo have none`,
		`clusters: [{name: a, spec: {protocol: Sync}}]`:                                                                  `spec.query: is required`,
		`clusters: [{name: a, spec: {protocol: TCP, port: 1}, loadbalancer: {policy: X}}]`:                               `loadbalancer.policy: "X" is not supported`,
		`clusters: [{name: a, spec: {protocol: TCP, port: 1}, loadbalancer: {key: /a}}]`:                                 `loadbalancer.key: is not a field of policy`,
		`clusters: [{name: a, spec: {protocol: TCP, port: 1}, endpoints: [{spec: {address: a, weight: 1}, weight: 2}]}]`: `weight: differs from spec.weight`,
		`clusters: [{name: a, spec: {protocol: UnixDomainSocket}, endpoints: [{spec: {address: a, filename: b}}]}]`:      `filename: differs from address`,
		`rules: [{name: a, action: {}}]`:                                                                                 `action.route: a rule needs route, apply, deny or redirect`,
		`rules: [{name: a, action: {apply: x, route: y}}]`:                                                               `action.apply: route has no effect`,
		`rules: [{name: a, action: {route: x, rewrite: [{path: /a, pattern: a, value: 1}]}}]`:                            `rewrite[0].value: must be a string with pattern`,
		`rules: [{name: a, action: {route: x, rewrite: [{path: /a, pattern: "(", value: a}]}}]`:                          `rewrite[0].pattern: error parsing regexp`,
		`rules: [{name: a, action: {route: x, rewrite: [{path: /a}]}}]`:                                                  `rewrite[0].value: is required`,
		`routes: [{name: a, destination: [x]}]`:                                                                          `destination: must be a name or an object, is a list`,
		`routes: [{name: a, destination: x, cluster: y}]`:                                                                `destination: is set twice`,
		`routes: [{name: a, destination: x, retry: {num_retries: -1}}]`:                                                  `retry.num_retries: must be from 0`,
		`routes: [{name: a, destination: x, destinations: [{destination: y}]}]`:                                          `destinations: replaces destination`,
		`routes: [{name: a, destinations: []}]`:                                                                          `destinations: the sum of the weights must not be 0`,
		`routes: [{name: a, destinations: [{destination: x, weight: 0}]}]`:                                               `destinations: the sum of the weights must not be 0`,
		`routes: [{name: a, destinations: [{destination: x, weight: -1}]}]`:                                              `destinations[0].weight: must be from 0 to 1000000, is -1`,
		`routes: [{name: a, destinations: [{weight: 1}]}]`:                                                               `destinations[0].destination: is required`,
		`admin: {log_level: loud}`:                       `admin.log_level: "loud" is none of`,
		`admin: {offload: x}`:                            `admin.offload: "x" is none of`,
		`a: 1` + "\n---\n" + `b: 2`:                      `more than one document`,
		`admin: {log_level: x, log_level: y}`:            `already defined`,
		`listeners: [{name: a, spec: {1: 2}, rules: x}]`: `has keys that are not strings`,
	} {
		if _, err := decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %s", text, err, want)
		}
	}
}

// All forms that published files have are read.
func TestForms(t *testing.T) {
	c, err := decode(`
listeners:
- {name: a, spec: {UDP: {port: 1, option: {mode: server}}}, rules: [x, {action: {route: {cluster: y}}}]}
clusters:
- {name: b, spec: {protocol: JSONSocket, transport_spec: {UDP: {port: 2}}, header: [{path: /labels}, {path: {from: a, to: b}}]}, endpoints: [{spec: {address: h, weight: 3}}]}
- {name: c, spec: {protocol: UnixDomainSocket}, endpoints: [{spec: {filename: /s}}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	l, b := c.Listeners[0], c.Clusters[0]
	if l.Spec.Protocol != UDP || l.Spec.Options.Mode != "server" || l.Rules.Inline[0].Name != "x" ||
		l.Rules.Inline[1].Inline.Action.Route.Inline.Destination.Name != "y" {
		t.Errorf("listener: %+v", l)
	}
	if b.Spec.Transport.Port != 2 || b.Spec.Header[0].Path.To != "/" || b.Spec.Header[1].Path.To != "b" ||
		b.Endpoints[0].EffectiveWeight() != 3 || c.Clusters[1].Endpoints[0].Spec.Address != "/s" {
		t.Errorf("clusters: %+v", c.Clusters)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(`listeners: [{name: a, spec: {UDP: {port: 1}}, rules: [{match: {op: test}, action: {route: {destination: {spec: {protocol: Echo}}}}}]}]`)
	f.Add(`clusters: [{name: a, spec: {protocol: TCP, port: 1}, endpoints: [{spec: {address: a}}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decode(text)
		if err != nil {
			return
		}
		if _, err := decode(c.String()); err != nil && len(c.Listeners)+len(c.Clusters)+len(c.Rules)+len(c.Routes) == 0 {
			t.Errorf("%s became %s: %v", text, c, err)
		}
	})
}
