package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/cli/lint"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/model"
)

// clientOfTwo has a client of two TCP services on one port. The arguments are the Services, and the annotations of the
// namespace and of the pod.
const clientOfTwo = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: {}}}
---
apiVersion: v1
kind: Namespace
metadata:
  name: demo
  labels: {appmesh.k8s.aws/sidecarInjectorWebhook: enabled}
  annotations: {%[2]s}
---
%[1]s
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: front, namespace: demo}
spec:
  podSelector: {matchLabels: {app: front}}
  backends: [{virtualService: {virtualServiceRef: {name: one}}}, {virtualService: {virtualServiceRef: {name: two}}}]
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: front, namespace: demo}, spec: {template: {metadata: {labels: {app: front}, annotations: {%[3]s}}}}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: one, namespace: demo}, spec: {provider: {virtualNode: {virtualNodeRef: {name: one}}}}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: two, namespace: demo}, spec: {provider: {virtualNode: {virtualNodeRef: {name: two}}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: one, namespace: demo}
spec: {listeners: [{portMapping: {port: 5432, protocol: tcp}}], serviceDiscovery: {dns: {hostname: db1.example.com}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: two, namespace: demo}
spec: {listeners: [{portMapping: {port: 5432, protocol: tcp}}], serviceDiscovery: {dns: {hostname: db2.example.com}}}
`

// lintDNS lints the client of two services.
func lintDNS(t *testing.T, mode model.DNSMode, services, namespace, pod string) *lint.Report {
	t.Helper()
	text := fmt.Sprintf(clientOfTwo, services, namespace, pod)
	files, err := manifest.Read([]string{manifest.Stdin}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	report, err := lint.Run(files, lint.Options{Namespace: "default", DNS: mode})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestUnknownDNSMode(t *testing.T) {
	for name, report := range map[string]*lint.Report{
		"pod": lintDNS(t, "", "", "", "anymesh.dev/dns: Some"), "namespace": lintDNS(t, "", "", "anymesh.dev/dns: Some", ""),
	} {
		const want = `pods of this workload cannot be created: annotation anymesh.dev/dns is "Some"; set Unresolved, All or Off`
		if len(report.Findings) != 1 || report.Findings[0].Code != model.CodeRefused || report.Findings[0].Text != want ||
			report.Findings[0].Object.Name != "front" {
			t.Errorf("%s: got %+v", name, report.Findings)
		}
	}
}

func TestPortConflictDependsOnDNSMode(t *testing.T) {
	const off, unresolved = `anymesh.dev/dns: "Off"`, "anymesh.dev/dns: Unresolved"
	service := func(specs string) string {
		text := ""
		for _, name := range []string{"one", "two"} {
			text += fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: demo}, spec: {%s}}\n---\n", name, specs)
		}
		return strings.TrimSuffix(text, "---\n")
	}
	for name, c := range map[string]struct {
		services, namespace, pod string
		mode                     model.DNSMode
		conflict                 bool
	}{
		"no Service":                            {},
		"no Service, mode All":                  {mode: model.DNSAll},
		"no Service, mode Off":                  {mode: model.DNSOff, conflict: true},
		"no Service, namespace with mode Off":   {namespace: off, conflict: true},
		"no Service, pod overrides namespace":   {namespace: off, pod: unresolved},
		"no Service, pod overrides the setting": {pod: unresolved, mode: model.DNSOff},
		"no Service, pod with mode Off":         {pod: off, conflict: true},
		"Services, mode Off":                    {services: service("ports: [{port: 5432}]"), mode: model.DNSOff},
		"headless Services":                     {services: service("clusterIP: None"), conflict: true},
		"headless Services, mode All":           {services: service("clusterIP: None"), mode: model.DNSAll},
	} {
		t.Run(name, func(t *testing.T) {
			report := lintDNS(t, c.mode, c.services, c.namespace, c.pod)
			conflict := slices.ContainsFunc(report.Findings, func(f lint.Located) bool {
				return f.Code == model.CodePortConflict
			})
			if conflict != c.conflict || !conflict && len(report.Findings) > 0 {
				t.Errorf("got findings %v, want a PortConflict: %v", report.Findings, c.conflict)
			}
		})
	}
}
