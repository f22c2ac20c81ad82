package appmesh_test

import (
	"slices"
	"testing"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// A VirtualService that is created or deleted does not change the workloads that name it. A service with the name that
// a missing VirtualService would have is not reachable instead of it.
func TestMissingBackend(t *testing.T) {
	const node = `backends: [{virtualService: {virtualServiceRef: {name: s}}}, {virtualService: {virtualServiceRef: {name: t}}}]`
	service := manifestOf("VirtualService", "s", "provider: {}")
	other := manifestOf("VirtualService", "other", `awsName: s.ns, provider: {}`)
	named := manifestOf("VirtualService", "s", `awsName: named, provider: {}`)
	for name, c := range map[string]struct {
		manifests, want []string
	}{
		"missing":                     {nil, []string{"s.ns", "t.ns"}},
		"exists":                      {[]string{service}, []string{"s.ns", "t.ns"}},
		"exists with another awsName": {[]string{named}, []string{"named", "t.ns"}},
		"another has its name":        {[]string{other}, []string{"t.ns"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := append([]string{
				`{kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: {}}}`, `{kind: Namespace, apiVersion: v1, metadata: {name: ns}}`,
				manifestOf("VirtualNode", "a", node), manifestOf("VirtualNode", "b", node),
			}, c.manifests...)
			m, findings := appmesh.Dialect{}.Translate(decodeManifests(t, all))
			for _, w := range m.Workloads {
				var got []string
				for _, b := range w.Backends {
					got = append(got, b.Service)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s: got backends %q, want %q", w.Name, got, c.want)
				}
				missing := slices.ContainsFunc(findings, func(f model.Finding) bool {
					return f.Object == w.Origin.Object() && f.Code == model.CodeReferenceNotFound &&
						f.Path == "spec.backends[1].virtualService.virtualServiceRef"
				})
				if !missing {
					t.Errorf("%s: no finding about the second backend in %v", w.Name, findings)
				}
			}
			if len(m.Workloads) != 2 {
				t.Errorf("got workloads %v", m.Workloads)
			}
		})
	}
}
