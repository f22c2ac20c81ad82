package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/cases"
)

// handshake is a combination of the TLS of a server and of a client.
type handshake struct {
	Mode   string
	Mutual bool // the server validates the certificates of clients
	Server credentials
	Policy policy
	Port   int
	// Node and Service are the names of the VirtualNode and of the VirtualService.
	Node, Service string
}

func (h handshake) String() string {
	return fmt.Sprintf("%s certificate %s, mutual %v; policy %s, client certificate %s, names %s", h.Mode, h.Server.Kind,
		h.Mutual, h.Policy.Kind, h.Policy.Certificate, h.Policy.Names)
}

// credentials are a source of certificates. All parts are in the format of manifests.
type credentials struct {
	Kind, Server, Trust string
	// Clients are certificates of clients: of the trusted authority, and of another one.
	Clients map[string]string
}

// policy is a client policy.
type policy struct {
	Kind, Enforce, Ports string
	Certificate, Names   string
}

const (
	handshakeHost = "server.demo" // as in service discovery
	meshIdentity  = "spiffe://cluster.local/ns/demo/sa/default"
)

func fileCertificate(name string) string {
	return fmt.Sprintf(`file: {certificateChain: "%s.pem", privateKey: "%s.key"}`, name, name)
}

func sdsSecret(name string) string { return fmt.Sprintf(`sds: {secretName: %q}`, name) }

// handshakeCredentials are the sources of the server's certificate. A policy of a client trusts the authority of the
// same source. The authority of "stranger" is another one, and "none" has no certificate.
var handshakeCredentials = []credentials{
	{
		"file", fileCertificate("/mnt/mesh/" + handshakeHost), trustInFile,
		map[string]string{"right": fileCertificate("/mnt/mesh/client"), "other": fileCertificate("/mnt/other/client")},
	},
	{
		"stranger", fileCertificate("/mnt/other/" + handshakeHost), trustInFile,
		map[string]string{"right": fileCertificate("/mnt/mesh/client"), "other": fileCertificate("/mnt/other/client")},
	},
	{
		"none", `acm: {certificateARN: "arn:aws:acm:eu-west-1:111122223333:certificate/unknown"}`, trustInFile,
		map[string]string{"right": fileCertificate("/mnt/mesh/client"), "other": fileCertificate("/mnt/other/client")},
	},
	{
		"socket", sdsSecret("spiffe://example.org/server"), sdsSecret("spiffe://example.org"), map[string]string{
			"right": sdsSecret("spiffe://example.org/client"), "other": sdsSecret("spiffe://other.org/client"),
		},
	},
	{
		"mesh", sdsSecret(meshIdentity), sdsSecret("spiffe://cluster.local"),
		map[string]string{"right": sdsSecret(meshIdentity), "other": sdsSecret("spiffe://other.org/client")},
	},
}

const trustInFile = `file: {certificateChain: /mnt/mesh/ca.pem}`

// handshakeNames are the subject alternative names that a client requires of servers.
var handshakeNames = map[string]string{
	"match": fmt.Sprintf("subjectAlternativeNames: {match: {exact: [%s, %q, %q]}}", handshakeHost,
		"spiffe://example.org/server", meshIdentity),
	"other":  fmt.Sprintf("subjectAlternativeNames: {match: {exact: [other.demo, %q]}}", "spiffe://example.org/other"),
	"absent": "",
}

// handshakePolicies returns all client policies. The one of kind "absent" is none.
func handshakePolicies() []policy {
	all := []policy{{Kind: "absent", Certificate: "none", Names: "absent"}}
	for _, kind := range []policy{
		{Kind: "enforced", Enforce: "true"}, {Kind: "not enforced", Enforce: "false"},
		{Kind: "enforced on another port", Enforce: "true", Ports: "ports: [1]"},
	} {
		for _, kind.Certificate = range []string{"none", "right", "other"} {
			for _, kind.Names = range []string{"match", "other", "absent"} {
				all = append(all, kind)
			}
		}
	}
	return all
}

// handshakes returns the product of all modes, certificates and policies.
func handshakes() []handshake {
	var all []handshake
	port := 8000
	for _, source := range handshakeCredentials {
		var listeners []handshake
		for _, mode := range []string{"DISABLED", "PERMISSIVE", "STRICT"} {
			for _, mutual := range []bool{false, true} {
				port++
				listeners = append(listeners, handshake{Mode: mode, Mutual: mutual, Server: source, Port: port})
			}
		}
		for i, p := range handshakePolicies() {
			for _, h := range listeners {
				h.Policy, h.Node = p, fmt.Sprintf("%s-%d", source.Kind, i)
				h.Service = h.Node + ".demo"
				all = append(all, h)
			}
		}
	}
	return all
}

// handshakeObjects are the objects of the handshakes: the VirtualNode "server" has all listeners, and the pod. Each
// other one has the listeners with one source of certificates, for one policy of the VirtualNode "client".
var handshakeObjects = template.Must(template.New("objects").Funcs(template.FuncMap{"names": func(n string) string {
	return handshakeNames[n]
}}).Parse(`
{{- define "listeners"}}
  serviceDiscovery: {awsCloudMap: {namespaceName: demo, serviceName: server}}
  listeners:
{{- range .}}
    - portMapping: {port: {{.Port}}, protocol: http}
      tls:
        mode: {{.Mode}}
        certificate: { {{.Server.Server}} }
{{- if .Mutual}}
        validation: {trust: { {{.Server.Trust}} }}
{{- end}}
{{- end}}
{{- end -}}
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: {}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: server, namespace: demo}
spec:
  podSelector: {matchLabels: {app: server}}
{{- template "listeners" .Listeners}}
---
apiVersion: v1
kind: Pod
metadata: {name: server, namespace: demo, labels: {app: server}}
status: {podIP: ` + externalAddress + `, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: client, namespace: demo}
spec:
  backends:
{{- range .Nodes}}
{{- with index . 0}}
    - virtualService:
        virtualServiceRef: {name: {{.Service}}}
{{- if ne .Policy.Kind "absent"}}
        clientPolicy:
          tls:
            enforce: {{.Policy.Enforce}}
            {{.Policy.Ports}}
{{- with index .Server.Clients .Policy.Certificate}}
            certificate: { {{.}} }
{{- end}}
            validation:
              trust: { {{.Server.Trust}} }
              {{names .Policy.Names}}
{{- end}}
{{- end}}
{{- end}}
{{- range .Nodes}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: {{(index . 0).Node}}, namespace: demo}
spec:
{{- template "listeners" .}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: {{(index . 0).Service}}, namespace: demo}
spec: {awsName: {{(index . 0).Service}}, provider: {virtualNode: {virtualNodeRef: {name: {{(index . 0).Node}} }}}}
{{- end}}
`))

// translateHandshakes translates the objects of handshakes for a driver.
func translateHandshakes(driver Driver, all []handshake) (Translation, error) {
	var input struct {
		Listeners []handshake
		Nodes     [][]handshake
	}
	seen := map[int]bool{}
	for i, h := range all {
		if !seen[h.Port] {
			seen[h.Port] = true
			input.Listeners = append(input.Listeners, h)
		}
		if i == 0 || all[i-1].Node != h.Node {
			input.Nodes = append(input.Nodes, nil)
		}
		last := len(input.Nodes) - 1
		input.Nodes[last] = append(input.Nodes[last], h)
	}
	var text bytes.Buffer
	if err := handshakeObjects.Execute(&text, input); err != nil {
		return Translation{}, err
	}
	objects, err := cases.Decode(text.Bytes())
	if err != nil {
		return Translation{}, err
	}
	dialects, err := dialect.Configured(dialect.Settings{Values: map[string]json.RawMessage{
		"appmesh": json.RawMessage(`{"defaultRetry": false, "sds": {"enabled": true, "udsPath": "` + sdsSocket + `"}}`),
	}})
	if err != nil {
		return Translation{}, err
	}
	m := Translation{
		State: engine.Compute(dialects, engine.Settings{}, objects), Rendered: map[model.Key][]sidecar.Resource{},
	}
	for _, name := range []string{"server", "client"} {
		view, err := m.View(name)
		if err != nil {
			return m, err
		}
		m.Rendered[view.Workload.Key], _ = sidecar.Configuration(driver, view, m.State.Index.ResolvedDestination)
	}
	for _, f := range m.State.Findings {
		if !strings.Contains(f.Text, "certificate/unknown") && !strings.Contains(f.Text, "have no host names") {
			return m, fmt.Errorf("unexpected finding: %s", f)
		}
	}
	return m, nil
}
