package appmesh_test

import (
	"fmt"
	"testing"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// TestReferenceForms has each form of a reference, with a missing and an existing target.
func TestReferenceForms(t *testing.T) {
	const (
		here, gone = `{name: node}`, `{name: gone}`
		nodeARN    = `"arn:aws:appmesh:eu-west-1:1:mesh/any@2/virtualNode/node_ns"`
		goneARN    = `"arn:aws:appmesh:eu-west-1:1:mesh/m/virtualNode/gone_ns"`
		service    = `{kind: VirtualService, metadata: {name: s, namespace: ns}}`
		router     = `{kind: VirtualRouter, metadata: {name: r, namespace: ns}, spec: {listeners: [{portMapping: {port: 80, protocol: http}}]}}`
	)
	backend := func(reference string) string {
		return manifestOf("VirtualNode", "a", `backends: [{virtualService: {`+reference+`}}]`)
	}
	provider := func(reference string) string { return manifestOf("VirtualService", "a", `provider: {`+reference+`}`) }
	route := func(protocol, kind, target string) string {
		return manifestOf("VirtualRouter", "a", `listeners: [{portMapping: {port: 80, protocol: `+protocol+`}}], routes: [{name: x, `+kind+`: {match: {`+map[string]string{"http": "prefix: /", "http2": "prefix: /"}[protocol]+`}, action: {weightedTargets: [{`+target+`}]}}}]`)
	}
	type form struct {
		wrong, path string
		code        model.Code
		right       string
	}
	forms := map[string]form{
		"empty namespace": {
			backend(`virtualServiceRef: {name: gone, namespace: ""}`),
			"spec.backends[0].virtualService.virtualServiceRef", model.CodeReferenceNotFound,
			backend(`virtualServiceRef: {name: s, namespace: ""}`),
		},
		"backend: ARN takes precedence": {
			backend(`virtualServiceRef: {name: s}, virtualServiceARN: "arn:aws:appmesh:x:1:mesh/m/virtualService/gone.ns"`),
			"spec.backends[0].virtualService.virtualServiceARN", model.CodeReferenceNotFound,
			backend(`virtualServiceRef: {name: gone}, virtualServiceARN: "arn:aws:appmesh:x:1:mesh/m/virtualService/s.ns"`),
		},
		"provider node: ARN takes precedence": {
			provider(`virtualNode: {virtualNodeRef: ` + here + `, virtualNodeARN: ` + goneARN + `}`),
			"spec.provider.virtualNode.virtualNodeARN", model.CodeReferenceNotFound,
			provider(`virtualNode: {virtualNodeRef: ` + gone + `, virtualNodeARN: ` + nodeARN + `}`),
		},
		"provider router: ARN takes precedence": {
			provider(`virtualRouter: {virtualRouterRef: {name: r}, virtualRouterARN: "arn:aws:appmesh:x:1:mesh/m/virtualRouter/gone_ns"}`),
			"spec.provider.virtualRouter.virtualRouterARN", model.CodeReferenceNotFound,
			provider(`virtualRouter: {virtualRouterRef: {name: gone}, virtualRouterARN: "arn:aws:appmesh:x:1:mesh/m/virtualRouter/r_ns"}`),
		},
		"backend: ARN of another type": {
			backend(`virtualServiceARN: ` + nodeARN), "spec.backends[0].virtualService.virtualServiceARN",
			model.CodeInvalidField,
			backend(`virtualServiceARN: "arn:aws:appmesh:x:1:mesh/m/virtualService/s.ns"`),
		},
		"provider router: ARN of another type": {
			provider(`virtualRouter: {virtualRouterARN: ` + nodeARN + `}`),
			"spec.provider.virtualRouter.virtualRouterARN", model.CodeInvalidField,
			provider(`virtualRouter: {virtualRouterARN: "arn:aws:appmesh:x:1:mesh/m/virtualRouter/r_ns"}`),
		},
		"backend without a reference": {
			backend(``), "spec.backends[0].virtualService", model.CodeInvalidField,
			backend(`virtualServiceRef: {name: s}`),
		},
		"provider node without a reference": {
			provider(`virtualNode: {}`), "spec.provider.virtualNode", model.CodeInvalidField,
			provider(`virtualNode: {virtualNodeRef: ` + here + `}`),
		},
		"provider router without a reference": {
			provider(`virtualRouter: {}`), "spec.provider.virtualRouter", model.CodeInvalidField,
			provider(`virtualRouter: {virtualRouterRef: {name: r}}`),
		},
		"one provider": {
			provider(`virtualNode: {virtualNodeRef: ` + here + `}, virtualRouter: {virtualRouterRef: {name: r}}`),
			"spec.provider", model.CodeInvalidField,
			provider(``),
		},
	}
	for protocol, kind := range map[string]string{
		"http": "httpRoute", "http2": "http2Route", "grpc": "grpcRoute", "tcp": "tcpRoute",
	} {
		at := `spec.routes[0].` + kind + `.action.weightedTargets[0]`
		right := func(target string) string { return route(protocol, kind, target+`, weight: 1`) }
		forms[kind+" target: ARN takes precedence"] = form{
			right(`virtualNodeRef: ` + here + `, virtualNodeARN: ` + goneARN), at + ".virtualNodeARN",
			model.CodeReferenceNotFound,
			right(`virtualNodeRef: ` + gone + `, virtualNodeARN: ` + nodeARN),
		}
		forms[kind+" target without a reference"] = form{
			route(protocol, kind, `weight: 1`), at, model.CodeInvalidField, right(`virtualNodeRef: ` + here),
		}
		forms[kind+" target: ARN of another type"] = form{
			right(`virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualRouter/node_ns"`), at + ".virtualNodeARN",
			model.CodeInvalidField, right(`virtualNodeARN: ` + nodeARN),
		}
	}
	for name, f := range forms {
		t.Run(name, func(t *testing.T) {
			findingsOf := func(referrer string) []string {
				_, findings := appmesh.Dialect{}.Translate(decodeByAge(t,
					[]string{namespaceNS, aMesh, nodeInNS, service, router, referrer}))
				var out []string
				for _, found := range findings {
					out = append(out, fmt.Sprint(found.Code, " ", found.Path))
				}
				return out
			}
			if got := findingsOf(f.wrong); len(got) != 1 || got[0] != fmt.Sprint(f.code, " ", f.path) {
				t.Errorf("%s\ngot  %q\nwant %s %s", f.wrong, got, f.code, f.path)
			}
			if got := findingsOf(f.right); len(got) > 0 {
				t.Errorf("%s\ngot %q, want none", f.right, got)
			}
		})
	}
}
