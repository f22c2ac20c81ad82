package admission_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

const (
	ref              = `meshRef: {name: m, uid: u-m}`
	meshFinalizer    = `finalizers: [finalizers.appmesh.k8s.aws/mesh-members]`
	gatewayFinalizer = `finalizers: [finalizers.appmesh.k8s.aws/virtualgateway-members]`
)

// Defaults are set, and other fields are unchanged, including unknown fields.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		name, object, want string
		ipv6               bool
	}{
		{"Mesh", `{kind: Mesh, metadata: {name: x}, spec: {new: 1}}`, `{kind: Mesh, metadata: {name: x, ` + meshFinalizer + `}, spec: {awsName: x, new: 1}}`, false},
		{"Mesh without spec", `{kind: Mesh, metadata: {name: x}}`, `{kind: Mesh, metadata: {name: x, ` + meshFinalizer + `}, spec: {awsName: x}}`, false},
		{"Mesh with spec null", `{kind: Mesh, metadata: {name: x}, spec: null}`, `{kind: Mesh, metadata: {name: x, ` + meshFinalizer + `}, spec: {awsName: x}}`, false},
		{"awsName is set", `{kind: Mesh, metadata: {name: x}, spec: {awsName: w}}`, `{kind: Mesh, metadata: {name: x, ` + meshFinalizer + `}, spec: {awsName: w}}`, false},
		{"Mesh in IPv6 cluster", `{kind: Mesh, metadata: {name: x}, spec: {awsName: w}}`,
			`{kind: Mesh, metadata: {name: x, ` + meshFinalizer + `}, spec: {awsName: w, meshServiceDiscovery: {ipPreference: IPv6_ONLY}}}`, true},
		{"VirtualNode", `{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {new: [1]}}`,
			`{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {awsName: x_a, ` + ref + `, new: [1]}}`, false},
		{"VirtualNode without spec", `{kind: VirtualNode, metadata: {name: x, namespace: a}}`,
			`{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {awsName: x_a, ` + ref + `}}`, false},
		{"VirtualService", `{kind: VirtualService, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: VirtualService, metadata: {name: x, namespace: a}, spec: {awsName: x.a, ` + ref + `}}`, false},
		{"VirtualRouter", `{kind: VirtualRouter, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: VirtualRouter, metadata: {name: x, namespace: a}, spec: {awsName: x_a, ` + ref + `}}`, false},
		{"VirtualGateway", `{kind: VirtualGateway, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: VirtualGateway, metadata: {name: x, namespace: a, ` + gatewayFinalizer + `}, spec: {awsName: x_a, ` + ref + `}}`, false},
		{"GatewayRoute", `{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {awsName: x_a, ` + ref + `, virtualGatewayRef: {name: gateway, namespace: a, uid: u-gateway}}}`, false},
		{"BackendGroup", `{kind: BackendGroup, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: BackendGroup, metadata: {name: x, namespace: a}, spec: {` + ref + `}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			response, raw := review(t, server(t, c.ipv6), "mutate", c.object, "")
			if !response.Allowed {
				t.Errorf("denied: %s", message(response))
				return
			}
			if got := admitted(t, raw, response); !jsonpatch.Equal([]byte(got), asJSON(t, c.want)) {
				t.Errorf("got\n%s\nwant\n%s", got, asJSON(t, c.want))
			}
			again, raw := review(t, server(t, c.ipv6), "validate", admitted(t, raw, response), "")
			if strings.Contains(message(again), "read-only") {
				t.Errorf("the object with defaults is denied: %s %s", message(again), raw)
			}
		})
	}
}

func TestDenials(t *testing.T) {
	terminating := &api.Mesh{
		ObjectMeta: metav1.ObjectMeta{
			Name: "t", UID: "u-t", DeletionTimestamp: new(metav1.Now()), Finalizers: []string{"x"},
		},
		Spec: api.MeshSpec{
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"kubernetes.io/metadata.name": "d"},
			},
		},
	}
	for _, c := range []struct{ name, verb, object, old, want string }{
		{"no mesh", "mutate", `{kind: VirtualNode, metadata: {name: x, namespace: b}}`, "", "failed to find matching mesh for namespace: b, expecting 1 but found 0"},
		{"two meshes", "mutate", `{kind: VirtualRouter, metadata: {name: x, namespace: c}}`, "", "found multiple matching meshes for namespace: c, expecting 1 but found 2: m,n"},
		{"unknown namespace", "mutate", `{kind: VirtualNode, metadata: {name: x, namespace: e}}`, "", "found 0"},
		{"another meshRef is set", "mutate", `{kind: VirtualService, metadata: {name: x, namespace: a}, spec: {meshRef: {name: m, uid: u-other}}}`, "", "VirtualService create may not specify read-only field: spec.meshRef"},
		{"another virtualGatewayRef is set", "mutate", `{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {virtualGatewayRef: {name: gateway, uid: u-other}}}`, "", "GatewayRoute create may not specify read-only field: spec.virtualGatewayRef"},
		{"no gateway", "mutate", `{kind: GatewayRoute, metadata: {name: x, namespace: b}}`, "", "failed to find matching mesh"},
		{"changed awsName", "validate", `{kind: Mesh, metadata: {name: x}, spec: {awsName: z}}`, `{kind: Mesh, metadata: {name: x}, spec: {awsName: w}}`, "Mesh update may not change these fields: spec.awsName"},
		{"changed awsName and meshRef", "validate", `{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {awsName: z, meshRef: {name: o, uid: u}}}`,
			`{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {awsName: w, meshRef: {name: m, uid: u}}}`, "VirtualNode update may not change these fields: spec.awsName,spec.meshRef"},
		{"changed virtualGatewayRef", "validate", `{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {virtualGatewayRef: {name: gateway, uid: u}}}`, "GatewayRoute update may not change these fields: spec.virtualGatewayRef"},
		{"wrong type in new object", "validate", `{kind: Mesh, metadata: {name: x}, spec: {awsName: 7}}`, "", "cannot be decoded"},
		{"wrong type in old object", "validate", `{kind: Mesh, metadata: {name: x}}`, `{kind: Mesh, metadata: {name: x}, spec: 7}`, "cannot be decoded"},
		{"wrong type in mutated object", "mutate", `{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {listeners: 7}}`, "", "cannot be decoded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			response, _ := review(t, server(t, false, terminating), c.verb, c.object, c.old)
			if response.Allowed || !strings.Contains(message(response), c.want) {
				t.Errorf("got allowed %v, message %q, want %q", response.Allowed, message(response), c.want)
			}
		})
	}
}

func TestUnrelatedUpdatesPass(t *testing.T) {
	for name, c := range map[string][2]string{
		"finalizers of an object that is invalid now": {
			`{kind: VirtualNode, metadata: {name: x, namespace: a, finalizers: []}, spec: {awsName: x, listeners: [{portMapping: {port: 1, protocol: http}}]}}`,
			`{kind: VirtualNode, metadata: {name: x, namespace: a, finalizers: [f]}, spec: {awsName: x, listeners: [{portMapping: {port: 1, protocol: http}}]}}`,
		},
		"egress filter of a Mesh": {
			`{kind: Mesh, metadata: {name: x}, spec: {awsName: x, egressFilter: {type: ALLOW_ALL}}}`, `{kind: Mesh, metadata: {name: x}, spec: {awsName: x}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"mutate", "validate"} {
				if response, _ := review(t, server(t, false), verb, c[0], c[1]); !response.Allowed {
					t.Errorf("%s: denied: %s", verb, message(response))
				}
			}
		})
	}
}

// Manifests that worked before may have fields that the API does not have. The API server drops them, so admission
// allows them.
func TestUnknownFieldsPass(t *testing.T) {
	for name, object := range map[string]string{
		"TLS mode of a client policy": `{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {backendDefaults: {clientPolicy: {tls: {mode: STRICT, validation: {trust: {file: {certificateChain: /ca}}}}}}}}`,
		"prefix of a TCP route": `{kind: VirtualRouter, metadata: {name: x, namespace: a}, spec: {listeners: [{portMapping: {port: 80, protocol: tcp}}],
			routes: [{name: r, tcpRoute: {match: {prefix: /}, action: {weightedTargets: [{virtualNodeRef: {name: node}, weight: 1}]}}}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"mutate", "validate"} {
				if response, _ := review(t, server(t, false), verb, object, ""); !response.Allowed {
					t.Errorf("%s: denied: %s", verb, message(response))
				}
			}
		})
	}
}

// Whoever deletes a VirtualNode learns which routes still send requests to it.
func TestDeletionWarnings(t *testing.T) {
	var router api.VirtualRouter
	if err := yaml.Unmarshal([]byte(`{metadata: {name: color, namespace: a}, spec: {routes: [
		{name: all, httpRoute: {match: {prefix: /}, action: {weightedTargets: [
			{virtualNodeRef: {name: red}, weight: 90}, {virtualNodeRef: {name: blue, namespace: b}, weight: 10}]}}},
		{name: arn, tcpRoute: {action: {weightedTargets: [
			{virtualNodeARN: "arn:aws:appmesh:x:1:mesh/m/virtualNode/red_a", weight: 1}]}}}]}}`), &router); err != nil {
		t.Fatal(err)
	}
	h := server(t, false, &router)
	for node, want := range map[string][]string{
		"a/red": {
			"route all of VirtualRouter a/color sends it 90 of 100 requests: they fail from now on; remove the target first",
			"route arn of VirtualRouter a/color sends it 1 of 1 requests: they fail from now on; remove the target first",
		},
		"b/blue": {
			"route all of VirtualRouter a/color sends it 10 of 100 requests: they fail from now on; remove the target first",
		},
		"a/blue": nil, "b/red": nil,
	} {
		namespace, name, _ := strings.Cut(node, "/")
		body := fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1",
			"operation": "DELETE", "namespace": %[1]q, "kind": {"kind": "VirtualNode"}, "oldObject": {"kind": "VirtualNode",
			"metadata": {"namespace": %[1]q, "name": %[2]q}}}}`, namespace, name)
		recorder := post(h, "/validate-appmesh-k8s-aws-v1beta2-virtualnode", []byte(body))
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || !review.Response.Allowed ||
			!slices.Equal(review.Response.Warnings, want) {
			t.Errorf("%s: %v: %s", node, err, recorder.Body)
		}
	}
}

// Deletions are never refused, also of kinds whose webhooks are not registered for them.
func TestDeletionsPass(t *testing.T) {
	for _, verb := range []string{"mutate", "validate"} {
		body := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "DELETE",
			"kind": {"kind": "Mesh"}, "object": null, "oldObject": {"kind": "Mesh", "metadata": {"name": "m"}}}}`
		recorder := post(server(t, false), "/"+verb+"-appmesh-k8s-aws-v1beta2-mesh", []byte(body))
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || !review.Response.Allowed {
			t.Errorf("%s: %v: %s", verb, err, recorder.Body)
		}
	}
}

func TestMalformedReviews(t *testing.T) {
	for name, body := range map[string]string{
		"empty": "", "not JSON": "<html>", "no request": `{}`, "another kind": `{"kind": "Pod"}`,
		"no object": `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "CREATE"}}`,
		"a list":    `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "CREATE", "object": []}}`,
		"too large": `{"request": {"object": {"new": "` + strings.Repeat("x", 10<<20) + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"mutate", "validate"} {
				recorder := post(server(t, false), "/"+verb+"-appmesh-k8s-aws-v1beta2-virtualnode", []byte(body))
				var review admissionv1.AdmissionReview
				if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil ||
					review.Response.Allowed || message(*review.Response) == "" {
					t.Errorf("%s: %v: %.300s", verb, err, recorder.Body)
				}
			}
		})
	}
	if recorder := post(server(t, false), "/mutate-appmesh-k8s-aws-v1beta2-nothing",
		nil); recorder.Code != http.StatusNotFound {
		t.Errorf("unknown kind: got status %d", recorder.Code)
	}
}

// Any object of any kind gets a response, and the patch of an allowed object applies.
func FuzzReview(f *testing.F) {
	for _, object := range []string{
		`{"spec": null}`, `{"metadata": {"name": "x"}, "spec": {"awsName": "y"}}`,
		`{"spec": {"listeners": [{"portMapping": null}], "routes": [{}]}}`, `{"metadata": null}`,
	} {
		for kind := range byte(7) {
			f.Add(kind, []byte(object))
		}
	}
	kinds := []string{
		"Mesh", "VirtualNode", "VirtualService", "VirtualRouter", "VirtualGateway", "GatewayRoute", "BackendGroup",
	}
	h := server(f, true)
	f.Fuzz(func(t *testing.T, kind byte, object []byte) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(object, &fields) != nil || fields == nil {
			return
		}
		fields["kind"] = json.RawMessage(`"` + kinds[int(kind)%len(kinds)] + `"`)
		if _, ok := fields["metadata"]; !ok {
			fields["metadata"] = json.RawMessage(`{"name": "x"}`)
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return
		}
		body, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": map[string]any{
			"uid": "1", "operation": "CREATE", "namespace": "a", "object": json.RawMessage(text), "kind": map[string]any{"kind": kinds[int(kind)%len(kinds)]},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"mutate", "validate"} {
			recorder := post(h, "/"+verb+"-appmesh-k8s-aws-v1beta2-"+strings.ToLower(kinds[int(kind)%len(kinds)]), body)
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil {
				t.Fatalf("%s: no response: %v: %s", verb, err, recorder.Body)
			}
			if review.Response.Allowed {
				admitted(t, text, *review.Response)
			}
		}
	})
}

// An object that asks for protection that is not in force is created with a warning, which kubectl prints.
func TestMissingCertificatesHaveWarnings(t *testing.T) {
	const foreign = `sds: {secretName: "spiffe://other/x"}`
	listener := func(mode string) string {
		return `listeners: [{portMapping: {port: 80, protocol: http}, tls: {mode: ` + mode + `, certificate: {` + foreign + `}}}], serviceDiscovery: {dns: {hostname: x}}`
	}
	policy := func(enforce string) string {
		return `backendDefaults: {clientPolicy: {tls: {enforce: ` + enforce + `, validation: {trust: {` + foreign + `}}}}}`
	}
	for name, c := range map[string]struct{ spec, warning string }{
		"STRICT":         {listener("STRICT"), "accepts no TLS connections"},
		"PERMISSIVE":     {listener("PERMISSIVE"), ""},
		"enforce: true":  {policy("true"), "connections to backends fail"},
		"enforce: false": {policy("false"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			response, _ := review(t, server(t, false), "validate",
				`{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {awsName: x_a, `+ref+`, `+c.spec+`}}`, "")
			text := strings.Join(response.Warnings, "\n")
			if !response.Allowed || (text != "") != (c.warning != "") || !strings.Contains(text, c.warning) {
				t.Errorf("got allowed %t, warnings %q; want %q", response.Allowed, text, c.warning)
			}
		})
	}
}
