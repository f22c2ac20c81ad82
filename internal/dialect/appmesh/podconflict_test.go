package appmesh_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// conflict is something between objects: with it there are findings, with the mended objects in place of the last ones
// there are none.
type conflict struct {
	// objects come from old to young. The last of them is what is wrong; mended replaces it, and is nothing where it is
	// deleted.
	objects []string
	mended  string
	// says are the findings as "Severity Code Object path".
	says []string
}

const (
	aMesh     = `{kind: Mesh, metadata: {name: m, uid: um}, spec: {namespaceSelector: {matchLabels: {mesh: m}}}}`
	aSpace    = `{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {mesh: m}}}`
	otherMesh = `{kind: Mesh, metadata: {name: o, uid: uo}, spec: {namespaceSelector: {matchLabels: {mesh: o}}}}`
	elsewhere = `{apiVersion: v1, kind: Namespace, metadata: {name: other, labels: {mesh: o}}}`
	nodeN     = `{kind: VirtualNode, metadata: {name: node, namespace: ns}, spec: {listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {dns: {hostname: h}}}}`
	nodeFar   = `{kind: VirtualNode, metadata: {name: node, namespace: other}, spec: {listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {dns: {hostname: h}}}}`
)

func of(kind, name, spec string) string {
	return `{kind: ` + kind + `, metadata: {name: ` + name + `, namespace: ns}, spec: {` + spec + `}}`
}

func routerTo(target string) string {
	return of("VirtualRouter", "router", `listeners: [{portMapping: {port: 80, protocol: http}}], routes: [{name: r, httpRoute: {match: {prefix: /}, action: {weightedTargets: [{`+target+`, weight: 1}]}}}]`)
}

const toTarget = " VirtualRouter ns/router spec.routes[0].httpRoute.action.weightedTargets[0]"

// TestConflictsAndReferences has each thing that can be wrong between objects, with the exact field, on every object
// concerned. It goes when the conflict ends, in either way: when what is wrong is mended, and when it is deleted.
func TestConflictsAndReferences(t *testing.T) {
	for name, c := range map[string]conflict{
		"two meshes select a namespace": {
			[]string{aSpace, aMesh, `{kind: Mesh, metadata: {name: n1}, spec: {namespaceSelector: {}}}`},
			`{kind: Mesh, metadata: {name: n1}}`,
			[]string{
				"Warning MultipleMeshes Mesh m spec.namespaceSelector",
				"Error MultipleMeshes Mesh n1 spec.namespaceSelector",
			},
		},
		"two meshes of one awsName": {
			[]string{aSpace, aMesh, `{kind: Mesh, metadata: {name: twin}, spec: {awsName: m}}`},
			`{kind: Mesh, metadata: {name: twin}, spec: {awsName: twin}}`,
			[]string{"Warning NameConflict Mesh m spec.awsName", "Error NameConflict Mesh twin spec.awsName"},
		},
		"two VirtualNodes of one awsName": {
			[]string{aSpace, aMesh, of("VirtualNode", "a", ""), of("VirtualNode", "b", "awsName: a_ns")},
			of("VirtualNode", "b", "awsName: b"),
			[]string{
				"Warning NameConflict VirtualNode ns/a spec.awsName",
				"Error NameConflict VirtualNode ns/b spec.awsName",
			},
		},
		"two VirtualServices of one awsName": {
			[]string{aSpace, aMesh, of("VirtualService", "a", ""), of("VirtualService", "b", "awsName: a.ns")},
			of("VirtualService", "b", ""),
			[]string{
				"Warning NameConflict VirtualService ns/a spec.awsName",
				"Error NameConflict VirtualService ns/b spec.awsName",
			},
		},
		"two VirtualRouters of one awsName": {
			[]string{
				aSpace, aMesh, routerTo("virtualNodeRef: {name: node}"), nodeN,
				of("VirtualRouter", "s", "awsName: router_ns, listeners: [{portMapping: {port: 80, protocol: http}}]"),
			},
			of("VirtualRouter", "s", "listeners: [{portMapping: {port: 80, protocol: http}}]"),
			[]string{
				"Warning NameConflict VirtualRouter ns/router spec.awsName",
				"Error NameConflict VirtualRouter ns/s spec.awsName",
			},
		},
		"two VirtualNodes select a pod": {
			[]string{
				aSpace, aMesh, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, labels: {app: a}}}`,
				of("VirtualNode", "a", "podSelector: {matchLabels: {app: a}}"),
				of("VirtualNode", "b", "podSelector: {}"),
			},
			of("VirtualNode", "b", "podSelector: {matchLabels: {app: b}}"),
			[]string{
				"Warning SelectorConflict VirtualNode ns/a spec.podSelector",
				"Error SelectorConflict VirtualNode ns/b spec.podSelector",
			},
		},
		"no mesh": {
			[]string{aSpace, otherMesh, of("VirtualNode", "a", "")}, "", []string{"Error NoMesh VirtualNode ns/a "},
		},
		"a mesh that was made anew without the namespace": {
			[]string{aSpace, otherMesh, of("VirtualNode", "a", "meshRef: {name: o, uid: before}")},
			of("VirtualNode", "a", "meshRef: {name: o, uid: uo}"),
			[]string{"Error MeshMismatch VirtualNode ns/a spec.meshRef.uid"},
		},
		"a mesh that was made anew, and is not alone": {
			[]string{
				aSpace, aMesh, of("VirtualNode", "a", "meshRef: {name: m, uid: before}"),
				`{kind: Mesh, metadata: {name: n1}, spec: {namespaceSelector: {}}}`,
			},
			`{kind: Mesh, metadata: {name: n1}}`,
			[]string{
				"Warning MultipleMeshes Mesh m spec.namespaceSelector",
				"Error MultipleMeshes Mesh n1 spec.namespaceSelector",
				"Error MeshMismatch VirtualNode ns/a spec.meshRef.uid",
			},
		},
		"a mesh that is gone": {
			[]string{aSpace, aMesh, of("VirtualNode", "a", "meshRef: {name: gone, uid: u}")},
			of("VirtualNode", "a", "meshRef: {name: m, uid: um}"),
			[]string{"Error MeshMismatch VirtualNode ns/a spec.meshRef"},
		},
		"a backend that is not there": {
			[]string{
				aSpace, aMesh, of("VirtualNode", "a", "backends: [{virtualService: {virtualServiceRef: {name: s}}}]"),
			},
			"",
			[]string{"Error ReferenceNotFound VirtualNode ns/a spec.backends[0].virtualService.virtualServiceRef"},
		},
		"a backend by ARN that is not there": {
			[]string{aSpace, aMesh, of("VirtualNode", "a",
				`backends: [{virtualService: {virtualServiceARN: "arn:aws:appmesh:x:1:mesh/m/virtualService/s.ns"}}]`)},
			"",
			[]string{"Error ReferenceNotFound VirtualNode ns/a spec.backends[0].virtualService.virtualServiceARN"},
		},
		"a backend of another mesh": {
			[]string{
				aSpace, aMesh, elsewhere, otherMesh, `{kind: VirtualService, metadata: {name: s, namespace: other}}`,
				of("VirtualNode", "a",
					"backends: [{virtualService: {virtualServiceRef: {name: s, namespace: other}}}]"),
			},
			"",
			[]string{"Error ReferenceToOtherMesh VirtualNode ns/a spec.backends[0].virtualService.virtualServiceRef"},
		},
		"a provider node that is not there": {
			[]string{
				aSpace, aMesh, nodeN,
				of("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: gone}}}"),
			},
			of("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: node}}}"),
			[]string{"Error ReferenceNotFound VirtualService ns/s spec.provider.virtualNode.virtualNodeRef"},
		},
		"a provider node that nobody can reach": {
			[]string{
				aSpace, aMesh, of("VirtualNode", "mute", ""), nodeN,
				of("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: mute}}}"),
			},
			of("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: node}}}"),
			[]string{"Error ReferenceNotFound VirtualService ns/s spec.provider.virtualNode"},
		},
		"a provider router that is not there": {
			[]string{
				aSpace, aMesh, of("VirtualService", "s", "provider: {virtualRouter: {virtualRouterRef: {name: gone}}}"),
			},
			of("VirtualService", "s", ""),
			[]string{"Error ReferenceNotFound VirtualService ns/s spec.provider.virtualRouter.virtualRouterRef"},
		},
		"a provider of another mesh": {
			[]string{
				aSpace, aMesh, elsewhere, otherMesh, nodeFar,
				of("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: node, namespace: other}}}"),
			},
			of("VirtualService", "s", ""),
			[]string{"Error ReferenceToOtherMesh VirtualService ns/s spec.provider.virtualNode.virtualNodeRef"},
		},
		"a target that is not there": {
			[]string{aSpace, aMesh, nodeN, routerTo("virtualNodeRef: {name: gone}")},
			routerTo("virtualNodeRef: {name: node}"),
			[]string{"Error ReferenceNotFound" + toTarget + ".virtualNodeRef"},
		},
		"a target by ARN that is not there": {
			[]string{
				aSpace, aMesh, nodeN, routerTo(`virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualNode/gone_ns"`),
			},
			routerTo(`virtualNodeARN: "arn:aws:appmesh:x:1:mesh/elsewhere/virtualNode/node_ns"`),
			[]string{"Error ReferenceNotFound" + toTarget + ".virtualNodeARN"},
		},
		"a target of another mesh": {
			[]string{
				aSpace, aMesh, nodeN, elsewhere, otherMesh, nodeFar,
				routerTo("virtualNodeRef: {name: node, namespace: other}"),
			},
			routerTo("virtualNodeRef: {name: node, namespace: ns}"),
			[]string{"Error ReferenceToOtherMesh" + toTarget + ".virtualNodeRef"},
		},
		"a target that is not served": {
			[]string{
				aSpace, aMesh, nodeN, of("VirtualNode", "odd", "meshRef: {name: gone, uid: before}"),
				routerTo("virtualNodeRef: {name: odd}"),
			},
			"",
			[]string{
				"Error MeshMismatch VirtualNode ns/odd spec.meshRef",
				"Error ReferenceNotFound" + toTarget + ".virtualNodeRef",
			},
		},
		"a target's port that nobody listens on": {
			[]string{aSpace, aMesh, nodeN, routerTo("virtualNodeRef: {name: node}, port: 81")},
			routerTo("virtualNodeRef: {name: node}, port: 80"),
			[]string{"Error ReferenceNotFound" + toTarget + ".port"},
		},
		"a target with two ports": {
			[]string{aSpace, aMesh, of("VirtualNode", "two", "listeners: [{portMapping: {port: 80, protocol: http}}, {portMapping: {port: 81, protocol: http}}], serviceDiscovery: {dns: {hostname: h}}"), routerTo("virtualNodeRef: {name: two}")},
			routerTo("virtualNodeRef: {name: two}, port: 81"),
			[]string{"Error InvalidField" + toTarget + ".port"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			said := func(objects []string) []string {
				_, findings := appmesh.Dialect{}.Translate(aged(t, objects))
				var out []string
				for _, f := range findings {
					out = append(out, fmt.Sprintf("%s %s %s %s", f.Severity, f.Code, f.Object, f.Path))
				}
				return out
			}
			if got := said(c.objects); !slices.Equal(got, c.says) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.says, "\n"))
			}
			before := c.objects[:len(c.objects)-1]
			for _, text := range said(before) { // what was there before the culprit came
				if !strings.Contains(text, string(model.CodeMeshMismatch)) {
					t.Errorf("after its deletion: %s", text)
				}
			}
			if c.mended != "" {
				if left := said(append(slices.Clone(before), c.mended)); len(left) > 0 {
					t.Errorf("after it was mended: %s", strings.Join(left, "\n"))
				}
			}
		})
	}
}

// TestReferencesFollowTheirTargets has references that dangle, then lead somewhere, then dangle again: within a
// namespace, across namespaces and by ARN.
func TestReferencesFollowTheirTargets(t *testing.T) {
	const far = `{apiVersion: v1, kind: Namespace, metadata: {name: far, labels: {mesh: m}}}`
	node := func(namespace string) string {
		return strings.Replace(nodeN, "namespace: ns", "namespace: "+namespace, 1)
	}
	service := func(namespace string) string {
		return `{kind: VirtualService, metadata: {name: s, namespace: ` + namespace + `}, spec: {}}`
	}
	for name, c := range map[string]struct{ referrer, target, path string }{
		"backend":                  {of("VirtualNode", "a", "backends: [{virtualService: {virtualServiceRef: {name: s}}}]"), service("ns"), "spec.backends[0].virtualService.virtualServiceRef"},
		"backend, far away":        {of("VirtualNode", "a", "backends: [{virtualService: {virtualServiceRef: {name: s, namespace: far}}}]"), service("far"), "spec.backends[0].virtualService.virtualServiceRef"},
		"backend by ARN":           {of("VirtualNode", "a", `backends: [{virtualService: {virtualServiceARN: "arn:aws:appmesh:x:1:mesh/m/virtualService/s.far"}}]`), service("far"), "spec.backends[0].virtualService.virtualServiceARN"},
		"provider node":            {of("VirtualService", "a", "provider: {virtualNode: {virtualNodeRef: {name: node}}}"), node("ns"), "spec.provider.virtualNode.virtualNodeRef"},
		"provider node, far away":  {of("VirtualService", "a", "provider: {virtualNode: {virtualNodeRef: {name: node, namespace: far}}}"), node("far"), "spec.provider.virtualNode.virtualNodeRef"},
		"provider node by ARN":     {of("VirtualService", "a", `provider: {virtualNode: {virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualNode/node_far"}}`), node("far"), "spec.provider.virtualNode.virtualNodeARN"},
		"provider router":          {of("VirtualService", "a", "provider: {virtualRouter: {virtualRouterRef: {name: r}}}"), of("VirtualRouter", "r", "listeners: [{portMapping: {port: 80, protocol: http}}]"), "spec.provider.virtualRouter.virtualRouterRef"},
		"provider router by ARN":   {of("VirtualService", "a", `provider: {virtualRouter: {virtualRouterARN: "arn:aws:appmesh:x:1:mesh/m/virtualRouter/r_ns"}}`), of("VirtualRouter", "r", "listeners: [{portMapping: {port: 80, protocol: http}}]"), "spec.provider.virtualRouter.virtualRouterARN"},
		"target of a route":        {routerTo("virtualNodeRef: {name: node}"), node("ns"), "spec.routes[0].httpRoute.action.weightedTargets[0].virtualNodeRef"},
		"target, far away":         {routerTo("virtualNodeRef: {name: node, namespace: far}"), node("far"), "spec.routes[0].httpRoute.action.weightedTargets[0].virtualNodeRef"},
		"target of a route by ARN": {routerTo(`virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualNode/node_far"`), node("far"), "spec.routes[0].httpRoute.action.weightedTargets[0].virtualNodeARN"},
	} {
		t.Run(name, func(t *testing.T) {
			for step, there := range []bool{false, true, false} {
				texts := []string{aSpace, far, aMesh, c.referrer}
				if there {
					texts = append(texts, c.target)
				}
				for i, text := range texts {
					if !strings.Contains(text, "apiVersion") {
						texts[i] = strings.Replace(text, "{kind", "{apiVersion: appmesh.k8s.aws/v1beta2, kind", 1)
					}
				}
				_, findings := appmesh.Dialect{}.Translate(decode(t, []byte(strings.Join(texts, "\n---\n"))))
				dangles := len(findings) == 1 && findings[0].Code == model.CodeReferenceNotFound &&
					findings[0].Path == c.path
				if there && len(findings) > 0 || !there && !dangles {
					t.Errorf("step %d: %v", step, findings)
				}
			}
		})
	}
}
