package appmesh_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// conflictCase is a conflict between objects, or a reference without a target.
type conflictCase struct {
	// objects are the manifests from old to young. The last one causes the findings. If it is deleted, or replaced by
	// fixed, there are none; fixed may be empty.
	objects []string
	fixed   string
	// findings are formatted as "Severity Code Object path".
	findings []string
}

const (
	aMesh          = `{kind: Mesh, metadata: {name: m, uid: um}, spec: {namespaceSelector: {matchLabels: {mesh: m}}}}`
	namespaceNS    = `{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {mesh: m}}}`
	otherMesh      = `{kind: Mesh, metadata: {name: o, uid: uo}, spec: {namespaceSelector: {matchLabels: {mesh: o}}}}`
	namespaceOther = `{apiVersion: v1, kind: Namespace, metadata: {name: other, labels: {mesh: o}}}`
	nodeInNS       = `{kind: VirtualNode, metadata: {name: node, namespace: ns}, spec: {listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {dns: {hostname: h}}}}`
	nodeInOther    = `{kind: VirtualNode, metadata: {name: node, namespace: other}, spec: {listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {dns: {hostname: h}}}}`
)

func manifestOf(kind, name, spec string) string {
	return `{kind: ` + kind + `, metadata: {name: ` + name + `, namespace: ns}, spec: {` + spec + `}}`
}

func routerTo(target string) string {
	return manifestOf("VirtualRouter", "router", `listeners: [{portMapping: {port: 80, protocol: http}}], routes: [{name: r, httpRoute: {match: {prefix: /}, action: {weightedTargets: [{`+target+`, weight: 1}]}}}]`)
}

const toTarget = " VirtualRouter ns/router spec.routes[0].httpRoute.action.weightedTargets[0]"

// TestConflictsAndReferences checks object and field of each finding, and that the findings disappear when the cause
// is fixed or deleted.
func TestConflictsAndReferences(t *testing.T) {
	for name, c := range map[string]conflictCase{
		"namespace of two Meshes": {
			[]string{namespaceNS, aMesh, `{kind: Mesh, metadata: {name: n1}, spec: {namespaceSelector: {}}}`},
			`{kind: Mesh, metadata: {name: n1}}`,
			[]string{
				"Warning MultipleMeshes Mesh m spec.namespaceSelector",
				"Error MultipleMeshes Mesh n1 spec.namespaceSelector",
			},
		},
		"Meshes with the same awsName": {
			[]string{namespaceNS, aMesh, `{kind: Mesh, metadata: {name: twin}, spec: {awsName: m}}`},
			`{kind: Mesh, metadata: {name: twin}, spec: {awsName: twin}}`,
			[]string{"Warning NameConflict Mesh m spec.awsName", "Error NameConflict Mesh twin spec.awsName"},
		},
		"name that the Mesh binds to another namespace": {
			[]string{
				namespaceNS, strings.Replace(aMesh, "uid: um", "uid: um, annotations: {anymesh.dev/service-namespaces: s.example=other}", 1),
				manifestOf("VirtualService", "s", "awsName: s.example"),
			},
			manifestOf("VirtualService", "s", "awsName: t.example"),
			[]string{"Error NameReserved VirtualService ns/s spec.awsName"},
		},
		"VirtualNodes with the same awsName": {
			[]string{namespaceNS, aMesh, manifestOf("VirtualNode", "a", ""), manifestOf("VirtualNode", "b", "awsName: a_ns")},
			manifestOf("VirtualNode", "b", "awsName: b"),
			[]string{
				"Warning NameConflict VirtualNode ns/a spec.awsName",
				"Error NameConflict VirtualNode ns/b spec.awsName",
			},
		},
		"VirtualServices with the same awsName": {
			[]string{namespaceNS, aMesh, manifestOf("VirtualService", "a", ""), manifestOf("VirtualService", "b", "awsName: a.ns")},
			manifestOf("VirtualService", "b", ""),
			[]string{
				"Warning NameConflict VirtualService ns/a spec.awsName",
				"Error NameConflict VirtualService ns/b spec.awsName",
			},
		},
		"VirtualRouters with the same awsName": {
			[]string{
				namespaceNS, aMesh, routerTo("virtualNodeRef: {name: node}"), nodeInNS,
				manifestOf("VirtualRouter", "s", "awsName: router_ns, listeners: [{portMapping: {port: 80, protocol: http}}]"),
			},
			manifestOf("VirtualRouter", "s", "listeners: [{portMapping: {port: 80, protocol: http}}]"),
			[]string{
				"Warning NameConflict VirtualRouter ns/router spec.awsName",
				"Error NameConflict VirtualRouter ns/s spec.awsName",
			},
		},
		"pod of two VirtualNodes": {
			[]string{
				namespaceNS, aMesh, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, labels: {app: a}}}`,
				manifestOf("VirtualNode", "a", "podSelector: {matchLabels: {app: a}}"),
				manifestOf("VirtualNode", "b", "podSelector: {}"),
			},
			manifestOf("VirtualNode", "b", "podSelector: {matchLabels: {app: b}}"),
			[]string{
				"Warning SelectorConflict VirtualNode ns/a spec.podSelector",
				"Error SelectorConflict VirtualNode ns/b spec.podSelector",
			},
		},
		"no mesh": {
			[]string{namespaceNS, otherMesh, manifestOf("VirtualNode", "a", "")}, "", []string{"Error NoMesh VirtualNode ns/a "},
		},
		"recreated Mesh does not select the namespace": {
			[]string{namespaceNS, otherMesh, manifestOf("VirtualNode", "a", "meshRef: {name: o, uid: before}")},
			manifestOf("VirtualNode", "a", "meshRef: {name: o, uid: uo}"),
			[]string{"Error MeshMismatch VirtualNode ns/a spec.meshRef.uid"},
		},
		"recreated Mesh and another one select the namespace": {
			[]string{
				namespaceNS, aMesh, manifestOf("VirtualNode", "a", "meshRef: {name: m, uid: before}"),
				`{kind: Mesh, metadata: {name: n1}, spec: {namespaceSelector: {}}}`,
			},
			`{kind: Mesh, metadata: {name: n1}}`,
			[]string{
				"Warning MultipleMeshes Mesh m spec.namespaceSelector",
				"Error MultipleMeshes Mesh n1 spec.namespaceSelector",
				"Error MeshMismatch VirtualNode ns/a spec.meshRef.uid",
			},
		},
		"missing Mesh": {
			[]string{namespaceNS, aMesh, manifestOf("VirtualNode", "a", "meshRef: {name: gone, uid: u}")},
			manifestOf("VirtualNode", "a", "meshRef: {name: m, uid: um}"),
			[]string{"Error MeshMismatch VirtualNode ns/a spec.meshRef"},
		},
		"missing backend": {
			[]string{
				namespaceNS, aMesh, manifestOf("VirtualNode", "a", "backends: [{virtualService: {virtualServiceRef: {name: s}}}]"),
			},
			"",
			[]string{"Error ReferenceNotFound VirtualNode ns/a spec.backends[0].virtualService.virtualServiceRef"},
		},
		"missing backend by ARN": {
			[]string{namespaceNS, aMesh, manifestOf("VirtualNode", "a",
				`backends: [{virtualService: {virtualServiceARN: "arn:aws:appmesh:x:1:mesh/m/virtualService/s.ns"}}]`)},
			"",
			[]string{"Error ReferenceNotFound VirtualNode ns/a spec.backends[0].virtualService.virtualServiceARN"},
		},
		"backend of another mesh": {
			[]string{
				namespaceNS, aMesh, namespaceOther, otherMesh, `{kind: VirtualService, metadata: {name: s, namespace: other}}`,
				manifestOf("VirtualNode", "a",
					"backends: [{virtualService: {virtualServiceRef: {name: s, namespace: other}}}]"),
			},
			"",
			[]string{"Error ReferenceToOtherMesh VirtualNode ns/a spec.backends[0].virtualService.virtualServiceRef"},
		},
		"missing provider node": {
			[]string{
				namespaceNS, aMesh, nodeInNS,
				manifestOf("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: gone}}}"),
			},
			manifestOf("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: node}}}"),
			[]string{"Error ReferenceNotFound VirtualService ns/s spec.provider.virtualNode.virtualNodeRef"},
		},
		"provider node without listeners": {
			[]string{
				namespaceNS, aMesh, manifestOf("VirtualNode", "mute", ""), nodeInNS,
				manifestOf("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: mute}}}"),
			},
			manifestOf("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: node}}}"),
			[]string{"Error ReferenceNotFound VirtualService ns/s spec.provider.virtualNode"},
		},
		"missing provider router": {
			[]string{
				namespaceNS, aMesh, manifestOf("VirtualService", "s", "provider: {virtualRouter: {virtualRouterRef: {name: gone}}}"),
			},
			manifestOf("VirtualService", "s", ""),
			[]string{"Error ReferenceNotFound VirtualService ns/s spec.provider.virtualRouter.virtualRouterRef"},
		},
		"provider of another mesh": {
			[]string{
				namespaceNS, aMesh, namespaceOther, otherMesh, nodeInOther,
				manifestOf("VirtualService", "s", "provider: {virtualNode: {virtualNodeRef: {name: node, namespace: other}}}"),
			},
			manifestOf("VirtualService", "s", ""),
			[]string{"Error ReferenceToOtherMesh VirtualService ns/s spec.provider.virtualNode.virtualNodeRef"},
		},
		"missing target": {
			[]string{namespaceNS, aMesh, nodeInNS, routerTo("virtualNodeRef: {name: gone}")},
			routerTo("virtualNodeRef: {name: node}"),
			[]string{"Error ReferenceNotFound" + toTarget + ".virtualNodeRef"},
		},
		"missing target by ARN": {
			[]string{
				namespaceNS, aMesh, nodeInNS, routerTo(`virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualNode/gone_ns"`),
			},
			routerTo(`virtualNodeARN: "arn:aws:appmesh:x:1:mesh/elsewhere/virtualNode/node_ns"`),
			[]string{"Error ReferenceNotFound" + toTarget + ".virtualNodeARN"},
		},
		"target of another mesh": {
			[]string{
				namespaceNS, aMesh, nodeInNS, namespaceOther, otherMesh, nodeInOther,
				routerTo("virtualNodeRef: {name: node, namespace: other}"),
			},
			routerTo("virtualNodeRef: {name: node, namespace: ns}"),
			[]string{"Error ReferenceToOtherMesh" + toTarget + ".virtualNodeRef"},
		},
		"target is not served": {
			[]string{
				namespaceNS, aMesh, nodeInNS, manifestOf("VirtualNode", "odd", "meshRef: {name: gone, uid: before}"),
				routerTo("virtualNodeRef: {name: odd}"),
			},
			"",
			[]string{
				"Error MeshMismatch VirtualNode ns/odd spec.meshRef",
				"Error ReferenceNotFound" + toTarget + ".virtualNodeRef",
			},
		},
		"port of target without a listener": {
			[]string{namespaceNS, aMesh, nodeInNS, routerTo("virtualNodeRef: {name: node}, port: 81")},
			routerTo("virtualNodeRef: {name: node}, port: 80"),
			[]string{"Error ReferenceNotFound" + toTarget + ".port"},
		},
		"target with two ports": {
			[]string{namespaceNS, aMesh, manifestOf("VirtualNode", "two", "listeners: [{portMapping: {port: 80, protocol: http}}, {portMapping: {port: 81, protocol: http}}], serviceDiscovery: {dns: {hostname: h}}"), routerTo("virtualNodeRef: {name: two}")},
			routerTo("virtualNodeRef: {name: two}, port: 81"),
			[]string{"Error InvalidField" + toTarget + ".port"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			findingsOf := func(objects []string) []string {
				_, findings := appmesh.Dialect{}.Translate(decodeByAge(t, objects))
				var out []string
				for _, f := range findings {
					out = append(out, fmt.Sprintf("%s %s %s %s", f.Severity, f.Code, f.Object, f.Path))
				}
				return out
			}
			if got := findingsOf(c.objects); !slices.Equal(got, c.findings) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.findings, "\n"))
			}
			before := c.objects[:len(c.objects)-1]
			for _, text := range findingsOf(before) { // findings without the last object
				if !strings.Contains(text, string(model.CodeMeshMismatch)) {
					t.Errorf("after the deletion: %s", text)
				}
			}
			if c.fixed != "" {
				if remaining := findingsOf(append(slices.Clone(before), c.fixed)); len(remaining) > 0 {
					t.Errorf("after the fix: %s", strings.Join(remaining, "\n"))
				}
			}
		})
	}
}

// TestReferencesFollowTheirTargets creates and deletes the target of each kind of reference: in a namespace, across
// namespaces and by ARN.
func TestReferencesFollowTheirTargets(t *testing.T) {
	const far = `{apiVersion: v1, kind: Namespace, metadata: {name: far, labels: {mesh: m}}}`
	node := func(namespace string) string {
		return strings.Replace(nodeInNS, "namespace: ns", "namespace: "+namespace, 1)
	}
	service := func(namespace string) string {
		return `{kind: VirtualService, metadata: {name: s, namespace: ` + namespace + `}, spec: {}}`
	}
	for name, c := range map[string]struct{ referrer, target, path string }{
		"backend":                        {manifestOf("VirtualNode", "a", "backends: [{virtualService: {virtualServiceRef: {name: s}}}]"), service("ns"), "spec.backends[0].virtualService.virtualServiceRef"},
		"backend, other namespace":       {manifestOf("VirtualNode", "a", "backends: [{virtualService: {virtualServiceRef: {name: s, namespace: far}}}]"), service("far"), "spec.backends[0].virtualService.virtualServiceRef"},
		"backend by ARN":                 {manifestOf("VirtualNode", "a", `backends: [{virtualService: {virtualServiceARN: "arn:aws:appmesh:x:1:mesh/m/virtualService/s.far"}}]`), service("far"), "spec.backends[0].virtualService.virtualServiceARN"},
		"provider node":                  {manifestOf("VirtualService", "a", "provider: {virtualNode: {virtualNodeRef: {name: node}}}"), node("ns"), "spec.provider.virtualNode.virtualNodeRef"},
		"provider node, other namespace": {manifestOf("VirtualService", "a", "provider: {virtualNode: {virtualNodeRef: {name: node, namespace: far}}}"), node("far"), "spec.provider.virtualNode.virtualNodeRef"},
		"provider node by ARN":           {manifestOf("VirtualService", "a", `provider: {virtualNode: {virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualNode/node_far"}}`), node("far"), "spec.provider.virtualNode.virtualNodeARN"},
		"provider router":                {manifestOf("VirtualService", "a", "provider: {virtualRouter: {virtualRouterRef: {name: r}}}"), manifestOf("VirtualRouter", "r", "listeners: [{portMapping: {port: 80, protocol: http}}]"), "spec.provider.virtualRouter.virtualRouterRef"},
		"provider router by ARN":         {manifestOf("VirtualService", "a", `provider: {virtualRouter: {virtualRouterARN: "arn:aws:appmesh:x:1:mesh/m/virtualRouter/r_ns"}}`), manifestOf("VirtualRouter", "r", "listeners: [{portMapping: {port: 80, protocol: http}}]"), "spec.provider.virtualRouter.virtualRouterARN"},
		"target of a route":              {routerTo("virtualNodeRef: {name: node}"), node("ns"), "spec.routes[0].httpRoute.action.weightedTargets[0].virtualNodeRef"},
		"target, other namespace":        {routerTo("virtualNodeRef: {name: node, namespace: far}"), node("far"), "spec.routes[0].httpRoute.action.weightedTargets[0].virtualNodeRef"},
		"target of a route by ARN":       {routerTo(`virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualNode/node_far"`), node("far"), "spec.routes[0].httpRoute.action.weightedTargets[0].virtualNodeARN"},
	} {
		t.Run(name, func(t *testing.T) {
			for step, exists := range []bool{false, true, false} {
				texts := []string{namespaceNS, far, aMesh, c.referrer}
				if exists {
					texts = append(texts, c.target)
				}
				_, findings := appmesh.Dialect{}.Translate(decodeManifests(t, texts))
				missing := len(findings) == 1 && findings[0].Code == model.CodeReferenceNotFound &&
					findings[0].Path == c.path
				if exists && len(findings) > 0 || !exists && !missing {
					t.Errorf("step %d: %v", step, findings)
				}
			}
		})
	}
}
