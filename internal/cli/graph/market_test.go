package graph

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/cli/terminal"
)

// market is a mesh with 44 services, of testdata/market.calls.
func market(t *testing.T) Mesh {
	t.Helper()
	text, err := os.ReadFile("testdata/market.calls")
	if err != nil {
		t.Fatal(err)
	}
	backends := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		caller, callees, found := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.HasPrefix(line, "#") || !found {
			continue
		}
		backends[caller] = strings.Fields(callees)
		for _, callee := range backends[caller] {
			backends[callee] = slices.Clone(backends[callee])
		}
	}
	var manifests strings.Builder
	manifests.WriteString("{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: market}, spec: {namespaceSelector: {}}}\n")
	for _, key := range slices.Sorted(maps.Keys(backends)) {
		namespace, name, _ := strings.Cut(key, "/")
		var list []string
		for _, b := range backends[key] {
			of, service, _ := strings.Cut(b, "/")
			list = append(list, fmt.Sprintf("{virtualService: {virtualServiceRef: {namespace: %s, name: %s}}}", of, service))
		}
		manifests.WriteString(strings.NewReplacer("NAMESPACE", namespace, "NAME", name, "BACKENDS", strings.Join(list, ", ")).Replace(`---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: NAMESPACE, name: NAME}
spec:
  podSelector: {matchLabels: {app: NAME}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: NAME.NAMESPACE.svc.cluster.local}}
  backends: [BACKENDS]
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: NAMESPACE, name: NAME}
spec:
  awsName: NAME.NAMESPACE.svc.cluster.local
  provider: {virtualNode: {virtualNodeRef: {name: NAME}}}
`))
	}
	file := filepath.Join(t.TempDir(), "market.yaml")
	if err := os.WriteFile(file, []byte(manifests.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return Of(stateOf(t, file), false)[0]
}

// TestManyServices checks that a drawing of 44 services has one node for each, with a short name.
func TestManyServices(t *testing.T) {
	drawn := market(t).fold()
	titles := map[string]bool{}
	for _, n := range drawn.Nodes {
		titles[n.title()] = true
		if len(n.title()) > len("recommendations") {
			t.Errorf("the name %q is long", n.title())
		}
	}
	if len(titles) != 44 || len(drawn.Nodes) != 44 {
		t.Errorf("%d nodes with %d names, want 44", len(drawn.Nodes), len(titles))
	}
}

func TestFocus(t *testing.T) {
	for name, c := range map[string]struct {
		depth int
		want  string
	}{
		"orders": {1, `mesh market  undeclared destinations: Deny
├─ admin  8080 http · +3 callees
│  ├─ inventory  8080 http · +1 caller · +1 callee
│  │  └─ events  8080 http · +1 caller
│  └─ orders  8080 http
│     ├─ events  8080 http · +1 caller
│     ├─ inventory  8080 http · +1 caller · +1 callee  (see above)
│     ├─ invoices  8080 http · +3 callees
│     └─ shipping  8080 http · +3 callees
│        └─ events  8080 http · +1 caller
├─ checkout  8080 http · +2 callers · +4 callees
│  ├─ orders  8080 http  (see above)
│  └─ shipping  8080 http · +3 callees  (see above)
└─ partner  8080 http · +2 callees
   └─ orders  8080 http  (see above)
`},
		"pay/vault": {Unlimited, `mesh market  undeclared destinations: Deny
├─ mobile  8080 http · +5 callees
│  └─ checkout  8080 http · +5 callees
│     └─ payments  8080 http · +3 callees
│        └─ vault  8080 http
└─ web  8080 http · +4 callees
   └─ checkout  8080 http · +5 callees  (see above)
`},
		"vault.pay.svc.cluster.local": {0, "mesh market  undeclared destinations: Deny\n└─ vault  8080 http · +1 caller · +1 callee\n"},
	} {
		part, found := market(t).Focus(name, c.depth)
		var out bytes.Buffer
		if err := Text(&out, terminal.Style{}, []Mesh{part}); err != nil || !found {
			t.Fatal(found, err)
		}
		if out.String() != c.want {
			t.Errorf("focus %s: got\n%s\nwant\n%s", name, out.String(), c.want)
		}
	}
	if _, found := market(t).Focus("nothing", 1); found {
		t.Error("an unknown name is found")
	}
}

func TestLimit(t *testing.T) {
	m := market(t)
	if all := m.Limit(Unlimited); len(all.Nodes) != len(m.Nodes) {
		t.Errorf("%d nodes without a limit, want %d", len(all.Nodes), len(m.Nodes))
	}
	previous := 0
	for depth := range 5 {
		part := m.Limit(depth)
		if len(part.Nodes) <= previous {
			t.Errorf("depth %d: %d nodes, as many as with depth %d", depth, len(part.Nodes), depth-1)
		}
		previous = len(part.Nodes)
	}
}
