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

// The rules are in docs/admission.md, with a valid variant of each; the test is next to it.

// A denial lists all errors.
func TestRefusalsNameFieldAndCode(t *testing.T) {
	err := appmesh.ValidateCreate(object(t, "VirtualRouter", `{listeners: [{portMapping: {port: 80, protocol: http}}], routes: [
		{name: a, httpRoute: {match: {prefix: /, headers: [{name: h, match: {}}]}, action: {weightedTargets: [{weight: 1}]}}}]}`))
	const want = "VirtualRouter ns/x is invalid: " +
		"spec.routes[0].httpRoute.action.weightedTargets[0]: virtualNodeRef or virtualNodeARN is required [InvalidField]; " +
		"spec.routes[0].httpRoute.match.headers[0].match: 0 of exact, prefix, suffix, regex and range are set; exactly one is required [InvalidField]"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Admission accepts errors that depend on other objects, and fields that are not supported.
func TestValidateAcceptsErrorsInOtherObjects(t *testing.T) {
	for name, c := range map[string][2]string{
		"missing provider":                    {"VirtualService", `{provider: {virtualRouter: {virtualRouterRef: {name: later}}}}`},
		"missing backend":                     {"VirtualNode", `{backends: [{virtualService: {virtualServiceRef: {name: later}}}]}`},
		"missing Mesh":                        {"VirtualNode", `{meshRef: {name: gone, uid: u}}`},
		"all weights 0":                       {"VirtualRouter", `{listeners: [{portMapping: {port: 80, protocol: tcp}}], routes: [{name: a, tcpRoute: {action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 0}]}}}]}`},
		"router without listeners":            {"VirtualRouter", `{}`},
		"service without a provider":          {"VirtualService", `{}`},
		"method without a service":            {"VirtualRouter", `{routes: [{name: a, grpcRoute: {match: {methodName: m}, action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 1}]}}}]}`},
		"timeout of another protocol":         {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}, timeout: {tcp: {idle: {unit: s, value: 1}}}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"connection pool of another protocol": {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {tcp: {maxConnections: 1}}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"ACM certificate":                     {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}, tls: {mode: STRICT, certificate: {acm: {certificateARN: "arn:aws:acm:eu-west-1:1:certificate/x"}}}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"ACM certificate authority":           {"VirtualNode", `{backendDefaults: {clientPolicy: {tls: {validation: {trust: {acm: {certificateAuthorityARNs: ["arn:aws:acm-pca:eu-west-1:1:certificate-authority/x"]}}}}}}}`},
		"SDS certificate":                     {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}, tls: {mode: PERMISSIVE, certificate: {sds: {secretName: "spiffe://m/n"}}, validation: {trust: {sds: {secretName: "spiffe://m"}}}}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"dns and awsCloudMap":                 {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {dns: {hostname: h}, awsCloudMap: {namespaceName: a, serviceName: b}}}`},
		"groups, health checks, logging":      {"VirtualNode", `{backendGroups: [{name: g}], logging: {accessLog: {file: {path: /dev/stdout}}}, listeners: [{portMapping: {port: 80, protocol: http}, healthCheck: {healthyThreshold: 2, unhealthyThreshold: 2, intervalMillis: 5000, timeoutMillis: 2000, protocol: http, path: /}}], serviceDiscovery: {dns: {hostname: h}}}`},
		"gateway with ACM certificate":        {"VirtualGateway", `{listeners: [{portMapping: {port: 443, protocol: http}, tls: {mode: STRICT, certificate: {acm: {certificateARN: "arn:aws:acm:eu-west-1:1:certificate/x"}}}}]}`},
		"gateway route with a port":           {"GatewayRoute", `{httpRoute: {match: {prefix: /, port: 9000}, action: {target: {port: 80, virtualService: {virtualServiceRef: {name: later}}}}}}`},
		"gateway route with a host":           {"GatewayRoute", `{grpcRoute: {match: {hostname: {suffix: .example.com}}, action: {target: {virtualService: {virtualServiceRef: {name: later}}}}}}`},
		"group of all services":               {"BackendGroup", `{virtualservices: [{name: "*"}]}`},
		"Mesh with an owner":                  {"Mesh", `{meshOwner: "111122223333"}`},
		"long regular expression":             {"VirtualRouter", `{listeners: [{portMapping: {port: 80, protocol: http}}], routes: [{name: a, httpRoute: {match: {path: {regex: "/(?:ab){1000}"}}, action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 1}]}}}]}`},
		"host name with a trailing dot":       {"VirtualNode", `{listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {dns: {hostname: h.example.com.}}}`},
		"same service by name and ARN":        {"VirtualNode", `{backends: [{virtualService: {virtualServiceRef: {name: a}}}, {virtualService: {virtualServiceARN: "arn:aws:appmesh:x:1:mesh/m/virtualService/a.ns"}}]}`},
		"reference and ARN":                   {"VirtualService", `{provider: {virtualNode: {virtualNodeRef: {name: a}, virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualNode/a_ns"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := appmesh.ValidateCreate(object(t, c[0], c[1])); err != nil {
				t.Error(err)
			}
		})
	}
}

// An update of an invalid object is accepted if it adds no errors.
func TestValidateUpdateAcceptsExistingErrors(t *testing.T) {
	const (
		to    = `action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 1}]}`
		two   = `{name: two, httpRoute: {match: {prefix: /}, ` + to + `}, tcpRoute: {` + to + `}}`
		none  = `{name: none}`
		regex = `{name: regex, httpRoute: {match: {path: {regex: "("}}, ` + to + `}}`
		good  = `{name: good, httpRoute: {match: {prefix: /good}, ` + to + `}}`
	)
	for name, c := range map[string]struct{ before, after, denied string }{
		"no change":               {two + `, ` + none, two + `, ` + none, ""},
		"valid route added":       {two, good + `, ` + two, ""},
		"one of two errors fixed": {two + `, ` + none + `, ` + regex, none + `, ` + regex, ""},
		"invalid route moved":     {good + `, ` + none, none + `, ` + good, ""},
		"other error added":       {none, none + `, ` + regex, "spec.routes[1].httpRoute.match.path.regex"},
		"same error added":        {none, none + `, {name: nothing}`, "spec.routes[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := object(t, "VirtualRouter",
				`{routes: [`+c.before+`]}`), object(t, "VirtualRouter", `{routes: [`+c.after+`]}`)
			err := appmesh.ValidateUpdate(before, after)
			var refusal *dialect.Refusal
			switch {
			case c.denied == "" && err != nil:
				t.Error(err)
			case c.denied != "" &&
				(!errors.As(err, &refusal) || len(refusal.Findings) != 1 || refusal.Findings[0].Path != c.denied):
				t.Errorf("got %v, want %s only", err, c.denied)
			}
		})
	}
	bad := object(t, "VirtualRouter", `{routes: [`+none+`]}`)
	freed := object(t, "VirtualRouter", `{routes: [`+none+`]}`)
	freed.SetLabels(map[string]string{"a": "b"})
	bad.SetFinalizers([]string{"finalizers.appmesh.k8s.aws/aws-appmesh-resources"})
	if err := appmesh.ValidateUpdate(bad, freed); err != nil {
		t.Errorf("labels and finalizers: %v", err)
	}
}

// Admission and status have the same findings: there is one list of rules.
func TestRefusalEqualsStatusFindings(t *testing.T) {
	o := object(t, "VirtualService", `{awsName: "http://s", provider: {virtualNode: {}}}`)
	var refusal *dialect.Refusal
	if err := appmesh.ValidateCreate(o); !errors.As(err, &refusal) {
		t.Fatalf("got error %v, want a Refusal", err)
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
		t.Errorf("admission:\n%s\nstatus:\n%s", asText(refusal.Findings), asText(own))
	}
}

func TestValidateWithGenerateName(t *testing.T) {
	for kind, spec := range map[string]string{"VirtualService": `{}`, "VirtualNode": `{}`, "VirtualRouter": `{}`} {
		t.Run(kind, func(t *testing.T) {
			o := object(t, kind, spec)
			o.SetName("")
			o.SetGenerateName("x-")
			if err := appmesh.ValidateCreate(o); err != nil {
				t.Error(err)
			}
			o.SetGenerateName(strings.Repeat("x", 260))
			if err := appmesh.ValidateCreate(o); err == nil {
				t.Error("a name of 265 characters is accepted")
			}
		})
	}
}
