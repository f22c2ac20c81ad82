package appmesh_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// The rules themselves are on the page docs/admission.md, each with its neighbor that is taken; its test is next to it.

// TestRefusalsNameFieldAndCode shows what a user reads: all that is wrong at once.
func TestRefusalsNameFieldAndCode(t *testing.T) {
	err := appmesh.ValidateCreate(object(t, "VirtualRouter", `{listeners: [{portMapping: {port: 80, protocol: http}}], routes: [
		{name: a, httpRoute: {match: {prefix: /, headers: [{name: h, match: {}}]}, action: {weightedTargets: [{weight: 1}]}}}]}`))
	const want = "VirtualRouter ns/x cannot be served as it is written: " +
		"spec.routes[0].httpRoute.action.weightedTargets[0]: needs virtualNodeRef or virtualNodeARN [InvalidField]; " +
		"spec.routes[0].httpRoute.match.headers[0].match: has 0 of exact, prefix, suffix, regex and range; keep exactly one [InvalidField]"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestValidateAcceptsFaultsOthersCanFix has what depends on other objects, and what is served although it asks for
// more.
func TestValidateAcceptsFaultsOthersCanFix(t *testing.T) {
	for name, c := range map[string][2]string{
		"a reference that leads nowhere yet":    {"VirtualService", `{provider: {virtualRouter: {virtualRouterRef: {name: later}}}}`},
		"a backend that is not there yet":       {"VirtualNode", `{backends: [{virtualService: {virtualServiceRef: {name: later}}}]}`},
		"a Mesh that is not there any more":     {"VirtualNode", `{meshRef: {name: gone, uid: u}}`},
		"no weight at all":                      {"VirtualRouter", `{listeners: [{portMapping: {port: 80, protocol: tcp}}], routes: [{name: a, tcpRoute: {action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 0}]}}}]}`},
		"a router that nobody can dial":         {"VirtualRouter", `{}`},
		"a service without a provider":          {"VirtualService", `{}`},
		"a method without a service":            {"VirtualRouter", `{routes: [{name: a, grpcRoute: {match: {methodName: m}, action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 1}]}}}]}`},
		"a timeout of another protocol":         {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}, timeout: {tcp: {idle: {unit: s, value: 1}}}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"a pool for another protocol":           {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {tcp: {maxConnections: 1}}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"a certificate that AWS had":            {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}, tls: {mode: STRICT, certificate: {acm: {certificateARN: "arn:aws:acm:eu-west-1:1:certificate/x"}}}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"an authority that AWS had":             {"VirtualNode", `{backendDefaults: {clientPolicy: {tls: {validation: {trust: {acm: {certificateAuthorityARNs: ["arn:aws:acm-pca:eu-west-1:1:certificate-authority/x"]}}}}}}}`},
		"a certificate from a socket":           {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}, tls: {mode: PERMISSIVE, certificate: {sds: {secretName: "spiffe://m/n"}}, validation: {trust: {sds: {secretName: "spiffe://m"}}}}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"both ways of discovery":                {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {dns: {hostname: h}, awsCloudMap: {namespaceName: a, serviceName: b}}}`},
		"groups, health checks, logs":           {"VirtualNode", `{backendGroups: [{name: g}], logging: {accessLog: {file: {path: /dev/stdout}}}, listeners: [{portMapping: {port: 80, protocol: http}, healthCheck: {healthyThreshold: 2, unhealthyThreshold: 2, intervalMillis: 5000, timeoutMillis: 2000, protocol: http, path: /}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"a gateway with AWS's certificate":      {"VirtualGateway", `{listeners: [{portMapping: {port: 443, protocol: http}, tls: {mode: STRICT, certificate: {acm: {certificateARN: "arn:aws:acm:eu-west-1:1:certificate/x"}}}}]}`},
		"a gateway route of a port":             {"GatewayRoute", `{httpRoute: {match: {prefix: /, port: 9000}, action: {target: {port: 80, virtualService: {virtualServiceRef: {name: later}}}}}}`},
		"a gateway route of a host":             {"GatewayRoute", `{grpcRoute: {match: {hostname: {suffix: .example.com}}, action: {target: {virtualService: {virtualServiceRef: {name: later}}}}}}`},
		"a group of all services":               {"BackendGroup", `{virtualservices: [{name: "*"}]}`},
		"a Mesh that somebody else owns":        {"Mesh", `{meshOwner: "111122223333"}`},
		"an expression of the allowed length":   {"VirtualRouter", `{listeners: [{portMapping: {port: 80, protocol: http}}], routes: [{name: a, httpRoute: {match: {path: {regex: "/(?:ab){1000}"}}, action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 1}]}}}]}`},
		"a host name with a dot at its end":     {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {dns: {hostname: h.example.com.}}}`},
		"the same service by name and by ARN":   {"VirtualNode", `{backends: [{virtualService: {virtualServiceRef: {name: a}}}, {virtualService: {virtualServiceARN: "arn:aws:appmesh:x:1:mesh/m/virtualService/a.ns"}}]}`},
		"a reference and an ARN, which it wins": {"VirtualService", `{provider: {virtualNode: {virtualNodeRef: {name: a}, virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualNode/a_ns"}}}`},
	} {
		if err := appmesh.ValidateCreate(object(t, c[0], c[1])); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestValidateUpdateAcceptsExistingFaults changes objects that were taken in worse times.
func TestValidateUpdateAcceptsExistingFaults(t *testing.T) {
	const (
		to    = `action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 1}]}`
		two   = `{name: two, httpRoute: {match: {prefix: /}, ` + to + `}, tcpRoute: {` + to + `}}`
		none  = `{name: none}`
		regex = `{name: regex, httpRoute: {match: {path: {regex: "("}}, ` + to + `}}`
		good  = `{name: good, httpRoute: {match: {prefix: /good}, ` + to + `}}`
	)
	for name, c := range map[string]struct{ before, after, denied string }{
		"nothing changes":               {two + `, ` + none, two + `, ` + none, ""},
		"a good route comes":            {two, good + `, ` + two, ""},
		"one of two faults is mended":   {two + `, ` + none + `, ` + regex, none + `, ` + regex, ""},
		"a fault gets another place":    {good + `, ` + none, none + `, ` + good, ""},
		"a fault of another kind comes": {none, none + `, ` + regex, "spec.routes[1].httpRoute.match.path.regex"},
		"one more of the same kind":     {none, none + `, {name: nothing}`, "spec.routes[1]"},
	} {
		before, after := object(t, "VirtualRouter",
			`{routes: [`+c.before+`]}`), object(t, "VirtualRouter", `{routes: [`+c.after+`]}`)
		err := appmesh.ValidateUpdate(before, after)
		var refusal *dialect.Refusal
		switch {
		case c.denied == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.denied != "" &&
			(!errors.As(err, &refusal) || len(refusal.Findings) != 1 || refusal.Findings[0].Path != c.denied):
			t.Errorf("%s: got %v, want %s alone", name, err, c.denied)
		}
	}
	bad := object(t, "VirtualRouter", `{routes: [`+none+`]}`)
	freed := object(t, "VirtualRouter", `{routes: [`+none+`]}`)
	freed.SetLabels(map[string]string{"a": "b"})
	bad.SetFinalizers([]string{"finalizers.appmesh.k8s.aws/aws-appmesh-resources"})
	if err := appmesh.ValidateUpdate(bad, freed); err != nil {
		t.Errorf("labels and finalizers: %v", err)
	}
}

// TestRefusalEqualsStatusFindings compares the two: there is one list of rules.
func TestRefusalEqualsStatusFindings(t *testing.T) {
	o := object(t, "VirtualService", `{awsName: "http://s", provider: {virtualNode: {}}}`)
	var refusal *dialect.Refusal
	if err := appmesh.ValidateCreate(o); !errors.As(err, &refusal) {
		t.Fatalf("answered with %v", err)
	}
	mesh := object(t, "Mesh", `{namespaceSelector: {}}`)
	mesh.SetNamespace("")
	_, findings := appmesh.Dialect{}.Translate(append(decode(t,
		[]byte(`{apiVersion: v1, kind: Namespace, metadata: {name: ns}}`)), mesh, o))
	var own []model.Finding
	for _, f := range findings {
		if f.Object.Kind == "VirtualService" {
			own = append(own, f)
		}
	}
	if !slices.Equal(own, refusal.Findings) {
		t.Errorf("admission says\n%s\nthe status would say\n%s", asText(refusal.Findings), asText(own))
	}
}

// TestValidateWithGenerateName has objects that the API server has yet to name.
func TestValidateWithGenerateName(t *testing.T) {
	for kind, spec := range map[string]string{"VirtualService": `{}`, "VirtualNode": `{}`, "VirtualRouter": `{}`} {
		o := object(t, kind, spec)
		o.SetName("")
		o.SetGenerateName("x-")
		if err := appmesh.ValidateCreate(o); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		o.SetGenerateName(strings.Repeat("x", 260))
		if err := appmesh.ValidateCreate(o); err == nil {
			t.Errorf("%s: a name of 265 characters was taken", kind)
		}
	}
}
