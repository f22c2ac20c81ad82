package appmesh_test

import (
	"fmt"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// Both sides of each limit that App Mesh enforced in addition to the schema. In a spec, $ is replaced by the number,
// or by a text of that length.
func TestLimitsBeyondTheSchema(t *testing.T) {
	const (
		sans     = `subjectAlternativeNames: {match: {exact: [ok, "$"]}}`
		policy   = `clientPolicy: {tls: {validation: {trust: {file: {certificateChain: /ca}}, ` + sans + `}}}`
		defaults = `{backendDefaults: {` + policy + `}}`
		log      = `{logging: {accessLog: {file: {path: /dev/stdout, format: `
		discover = `serviceDiscovery: {dns: {hostname: h}}`
		check    = `listeners: [{portMapping: {port: 8080, protocol: http}, healthCheck: {healthyThreshold: 2, unhealthyThreshold: 2, intervalMillis: 5000, timeoutMillis: 2000, protocol: http, port: $}}]`
		tls      = `listeners: [{portMapping: {port: 443, protocol: http}, tls: {mode: STRICT, certificate: {file: {certificateChain: /c, privateKey: /k}}, validation: {trust: {file: {certificateChain: /ca}}, ` + sans + `}}}]`
		backend  = `{backends: [{virtualService: {virtualServiceRef: {name: s}, ` + policy + `}}]}`
		route    = `{listeners: [{portMapping: {port: 80, protocol: tcp}}], routes: [{name: "$", tcpRoute: {action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 1}]}}}]}`
		toS      = `grpcRoute: {match: {serviceName: s}, action: {target: {virtualService: {virtualServiceRef: {name: s}}}}}`

		listenerSAN = "spec.listeners[0].tls.validation.subjectAlternativeNames.match.exact[1]"
		defaultSAN  = "spec.backendDefaults.clientPolicy.tls.validation.subjectAlternativeNames.match.exact[1]"
		backendSAN  = "spec.backends[0].virtualService.clientPolicy.tls.validation.subjectAlternativeNames.match.exact[1]"
		format      = "spec.logging.accessLog.file.format."
	)
	for _, c := range []struct {
		kind, path, spec string
		valid, invalid   int
	}{
		{"Mesh", "spec.awsName", `{awsName: "$"}`, 255, 256},
		{"VirtualNode", "spec.awsName", `{awsName: "$"}`, 255, 256},
		{"VirtualService", "spec.awsName", `{awsName: "$"}`, 255, 256},
		{"VirtualRouter", "spec.awsName", `{awsName: "$"}`, 255, 256},
		{"VirtualRouter", "spec.routes[0].name", route, 255, 256},
		{"VirtualRouter", "spec.routes[0].name", route, 1, 0},
		{"VirtualGateway", "spec.awsName", `{awsName: "$"}`, 255, 256},
		{"GatewayRoute", "spec.awsName", `{awsName: "$", ` + toS + `}`, 255, 256},

		{"VirtualNode", "spec.listeners[0].healthCheck.port", `{` + check + `, ` + discover + `}`, 8080, 8081},
		{"VirtualNode", listenerSAN, `{` + tls + `, ` + discover + `}`, 254, 255},
		{"VirtualNode", defaultSAN, defaults, 254, 255},
		{"VirtualNode", backendSAN, backend, 254, 255},
		{"VirtualNode", format + "text", log + `{text: "$"}}}}}`, 1000, 1001},
		{"VirtualNode", format + "text", log + `{text: "äöü $"}}}}}`, 996, 997}, // characters, not bytes
		{"VirtualNode", format + "json[0].key", log + `{json: [{key: "$", value: v}]}}}}}`, 100, 101},
		{"VirtualNode", format + "json[1].value", log + `{json: [{key: k, value: v}, {key: k, value: "$"}]}}}}}`, 100, 101},

		{"VirtualGateway", "spec.listeners[0].healthCheck.port", `{` + check + `}`, 8080, 8081},
		{"VirtualGateway", listenerSAN, `{` + tls + `}`, 254, 255},
		{"VirtualGateway", defaultSAN, defaults, 254, 255},
		{"VirtualGateway", format + "text", log + `{text: "$"}}}}}`, 1000, 1001},
		{"VirtualGateway", format + "json[0].key", log + `{json: [{key: "$", value: v}]}}}}}`, 100, 101},
		{"VirtualGateway", format + "json[0].value", log + `{json: [{key: k, value: "$"}]}}}}}`, 100, 101},
	} {
		t.Run(c.kind+" "+c.path, func(t *testing.T) {
			with := func(n int) string {
				value := strings.Repeat("x", n)
				if strings.HasSuffix(c.path, ".port") {
					value = fmt.Sprint(n)
				}
				return strings.Replace(c.spec, "$", value, 1)
			}
			if err := appmesh.ValidateCreate(object(t, c.kind, with(c.valid))); err != nil {
				t.Errorf("with %d: %v", c.valid, err)
			}
			if err := appmesh.ValidateCreate(object(t, c.kind, with(c.invalid))); err == nil ||
				!containsPath(err.Error(), c.path) {
				t.Errorf("with %d: %v", c.invalid, err)
			}
		})
	}
}

// Names are used in resource names; the name of a VirtualService is a host name.
func TestNamesAllowedCharacters(t *testing.T) {
	const toS = `, grpcRoute: {match: {serviceName: s}, action: {target: {virtualService: {virtualServiceRef: {name: s}}}}}`
	for kind, rest := range map[string]string{
		"Mesh": "", "VirtualNode": "", "VirtualRouter": "", "VirtualGateway": "", "GatewayRoute": toS,
		"VirtualService": "",
	} {
		t.Run(kind, func(t *testing.T) {
			valid, invalid := "aZ0_-", []string{"a b", "a.b", "a/b", "ä"}
			if kind == "VirtualService" {
				valid, invalid = "aZ0-_.example", []string{"a b", ".b", "a.", "a..b", "a/b", "a:80", "*.b", "ä"}
			}
			if err := appmesh.ValidateCreate(object(t, kind, `{awsName: "`+valid+`"`+rest+`}`)); err != nil {
				t.Error(err)
			}
			for _, name := range invalid {
				if err := appmesh.ValidateCreate(object(t, kind, `{awsName: "`+name+`"`+rest+`}`)); err == nil ||
					!containsPath(err.Error(), "spec.awsName") {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// App Mesh limited a VirtualNode to 50 backends and a VirtualRouter to 50 routes.
func TestNoQuotasAreEnforced(t *testing.T) {
	var objects, backends, routes []string
	for i := range 51 {
		backends = append(backends, fmt.Sprintf(`{virtualService: {virtualServiceRef: {name: s%d}}}`, i))
		routes = append(routes, fmt.Sprintf(`{name: r%d, httpRoute: {match: {prefix: /%d}, action: {weightedTargets: [{virtualNodeRef: {name: node}, weight: 1}]}}}`, i, i))
		objects = append(objects,
			manifestOf("VirtualService", fmt.Sprintf("s%d", i), `provider: {virtualRouter: {virtualRouterRef: {name: r}}}`))
	}
	objects = append(objects, namespaceNS, aMesh, nodeInNS,
		manifestOf("VirtualNode", "a", `backends: [`+strings.Join(backends, ", ")+`]`),
		manifestOf("VirtualRouter", "r", `listeners: [{portMapping: {port: 80, protocol: http}}], routes: [`+strings.Join(routes, ", ")+`]`))
	all := decodeByAge(t, objects)
	for _, o := range all {
		if err := appmesh.ValidateCreate(o); err != nil {
			t.Errorf("%s: %.300v", o.GetName(), err)
		}
	}
	m, findings := appmesh.Dialect{}.Translate(all)
	if len(findings) > 0 || len(m.Routers) != 1 || len(m.Routers[0].Routes) != 51 || len(m.Workloads) != 2 ||
		len(m.Workloads[0].Backends) != 51 {
		t.Errorf("%d routers, %d workloads; %.500s", len(m.Routers), len(m.Workloads), asText(findings))
	}
}
