package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/objects/admission"
)

const ref = `meshRef: {name: m, uid: u-m}`

// What a new object leaves open is filled in; everything else stays, also fields that we do not know.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		text, object, want string
		ipv6               bool
	}{
		{"a Mesh takes its own name", `{kind: Mesh, metadata: {name: x}, spec: {new: 1}}`, `{kind: Mesh, metadata: {name: x}, spec: {awsName: x, new: 1}}`, false},
		{"a Mesh without a spec", `{kind: Mesh, metadata: {name: x}}`, `{kind: Mesh, metadata: {name: x}, spec: {awsName: x}}`, false},
		{"a Mesh whose spec is null", `{kind: Mesh, metadata: {name: x}, spec: null}`, `{kind: Mesh, metadata: {name: x}, spec: {awsName: x}}`, false},
		{"a name that was given stays", `{kind: Mesh, metadata: {name: x}, spec: {awsName: w}}`, `{kind: Mesh, metadata: {name: x}, spec: {awsName: w}}`, false},
		{"a Mesh of an IPv6 cluster", `{kind: Mesh, metadata: {name: x}, spec: {awsName: w}}`,
			`{kind: Mesh, metadata: {name: x}, spec: {awsName: w, meshServiceDiscovery: {ipPreference: IPv6_ONLY}}}`, true},
		{"a VirtualNode joins the mesh of its namespace", `{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {new: [1]}}`,
			`{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {awsName: x_a, ` + ref + `, new: [1]}}`, false},
		{"a VirtualNode without a spec", `{kind: VirtualNode, metadata: {name: x, namespace: a}}`,
			`{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {awsName: x_a, ` + ref + `}}`, false},
		{"a VirtualService is a host name", `{kind: VirtualService, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: VirtualService, metadata: {name: x, namespace: a}, spec: {awsName: x.a, ` + ref + `}}`, false},
		{"a VirtualRouter", `{kind: VirtualRouter, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: VirtualRouter, metadata: {name: x, namespace: a}, spec: {awsName: x_a, ` + ref + `}}`, false},
		{"a VirtualGateway", `{kind: VirtualGateway, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: VirtualGateway, metadata: {name: x, namespace: a}, spec: {awsName: x_a, ` + ref + `}}`, false},
		{"a GatewayRoute joins the gateway that selects it", `{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {awsName: x_a, ` + ref + `, virtualGatewayRef: {name: door, namespace: a, uid: u-door}}}`, false},
		{"a BackendGroup has no name of its own", `{kind: BackendGroup, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: BackendGroup, metadata: {name: x, namespace: a}, spec: {` + ref + `}}`, false},
	} {
		response, raw := ask(t, server(t, c.ipv6), "mutate", c.object, "")
		if !response.Allowed {
			t.Errorf("%s: refused: %s", c.text, message(response))
			continue
		}
		if got := admitted(t, raw, response); !jsonpatch.Equal([]byte(got), asJSON(t, c.want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.text, got, asJSON(t, c.want))
		}
		again, raw := ask(t, server(t, c.ipv6), "validate", admitted(t, raw, response), "")
		if strings.Contains(message(again), "read-only") {
			t.Errorf("%s: what was filled in is refused: %s %s", c.text, message(again), raw)
		}
	}
}

func TestRefusals(t *testing.T) {
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
	for _, c := range []struct{ text, verb, object, old, want string }{
		{"no mesh", "mutate", `{kind: VirtualNode, metadata: {name: x, namespace: b}}`, "", "failed to find matching mesh for namespace: b, expecting 1 but found 0"},
		{"two meshes", "mutate", `{kind: VirtualRouter, metadata: {name: x, namespace: c}}`, "", "found multiple matching meshes for namespace: c, expecting 1 but found 2: m,n"},
		{"a namespace that nobody knows", "mutate", `{kind: VirtualNode, metadata: {name: x, namespace: e}}`, "", "found 0"},
		{"a mesh chosen by hand", "mutate", `{kind: VirtualService, metadata: {name: x, namespace: a}, spec: {meshRef: {name: m, uid: u-m}}}`, "", "VirtualService create may not specify read-only field: spec.meshRef"},
		{"a gateway chosen by hand", "mutate", `{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {virtualGatewayRef: {name: door, uid: u-door}}}`, "", "GatewayRoute create may not specify read-only field: spec.virtualGatewayRef"},
		{"no gateway", "mutate", `{kind: GatewayRoute, metadata: {name: x, namespace: b}}`, "", "failed to find matching mesh"},
		{"another name", "validate", `{kind: Mesh, metadata: {name: x}, spec: {awsName: z}}`, `{kind: Mesh, metadata: {name: x}, spec: {awsName: w}}`, "Mesh update may not change these fields: spec.awsName"},
		{"another mesh and name", "validate", `{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {awsName: z, meshRef: {name: o, uid: u}}}`,
			`{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {awsName: w, meshRef: {name: m, uid: u}}}`, "VirtualNode update may not change these fields: spec.awsName,spec.meshRef"},
		{"another gateway", "validate", `{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {}}`,
			`{kind: GatewayRoute, metadata: {name: x, namespace: a}, spec: {virtualGatewayRef: {name: door, uid: u}}}`, "GatewayRoute update may not change these fields: spec.virtualGatewayRef"},
		{"no object of the kind", "validate", `{kind: Mesh, metadata: {name: x}, spec: {awsName: 7}}`, "", "cannot be read"},
		{"no such old object", "validate", `{kind: Mesh, metadata: {name: x}}`, `{kind: Mesh, metadata: {name: x}, spec: 7}`, "cannot be read"},
		{"no such new object", "mutate", `{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {listeners: 7}}`, "", "cannot be read"},
	} {
		response, _ := ask(t, server(t, false, terminating), c.verb, c.object, c.old)
		if response.Allowed || !strings.Contains(message(response), c.want) {
			t.Errorf("%s: allowed %v: %q, want %q", c.text, response.Allowed, message(response), c.want)
		}
	}
}

func TestUnrelatedUpdatesPass(t *testing.T) {
	for text, c := range map[string][2]string{
		"finalizers of an object that would not be admitted now": {
			`{kind: VirtualNode, metadata: {name: x, namespace: a, finalizers: []}, spec: {awsName: x, listeners: [{portMapping: {port: 1, protocol: http}}]}}`,
			`{kind: VirtualNode, metadata: {name: x, namespace: a, finalizers: [f]}, spec: {awsName: x, listeners: [{portMapping: {port: 1, protocol: http}}]}}`,
		},
		"the egress filter of a Mesh": {
			`{kind: Mesh, metadata: {name: x}, spec: {awsName: x, egressFilter: {type: ALLOW_ALL}}}`, `{kind: Mesh, metadata: {name: x}, spec: {awsName: x}}`,
		},
	} {
		for _, verb := range []string{"mutate", "validate"} {
			if response, _ := ask(t, server(t, false), verb, c[0], c[1]); !response.Allowed {
				t.Errorf("%s, %s: %s", text, verb, message(response))
			}
		}
	}
}

// Fields that the API never had are in manifests that worked: an API server drops them, and they are no reason to
// refuse the rest.
func TestUnknownFieldsPass(t *testing.T) {
	for text, object := range map[string]string{
		"the mode of a client's TLS": `{kind: VirtualNode, metadata: {name: x, namespace: a}, spec: {backendDefaults: {clientPolicy: {tls: {mode: STRICT, validation: {trust: {file: {certificateChain: /ca}}}}}}}}`,
		"the prefix of a stream": `{kind: VirtualRouter, metadata: {name: x, namespace: a}, spec: {listeners: [{portMapping: {port: 80, protocol: tcp}}],
			routes: [{name: r, tcpRoute: {match: {prefix: /}, action: {weightedTargets: [{virtualNodeRef: {name: node}, weight: 1}]}}}]}}`,
	} {
		for _, verb := range []string{"mutate", "validate"} {
			if response, _ := ask(t, server(t, false), verb, object, ""); !response.Allowed {
				t.Errorf("%s, %s: %s", text, verb, message(response))
			}
		}
	}
}

// Webhooks of deletions are not asked for; whoever asks all the same must not be kept from deleting.
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
		"nothing": "", "no JSON": "<html>", "no request": `{}`, "another kind": `{"kind": "Pod"}`,
		"no object": `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "CREATE"}}`,
		"a list":    `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "CREATE", "object": []}}`,
		"too large": `{"request": {"object": {"new": "` + strings.Repeat("x", 10<<20) + `"}}}`,
	} {
		for _, verb := range []string{"mutate", "validate"} {
			recorder := post(server(t, false), "/"+verb+"-appmesh-k8s-aws-v1beta2-virtualnode", []byte(body))
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil ||
				review.Response.Allowed || message(*review.Response) == "" {
				t.Errorf("%s, %s: %v: %.300s", verb, name, err, recorder.Body)
			}
		}
	}
	if recorder := post(server(t, false), "/mutate-appmesh-k8s-aws-v1beta2-nothing",
		nil); recorder.Code != http.StatusNotFound {
		t.Errorf("a kind that does not exist: status %d", recorder.Code)
	}
}

// silent is an API server that does not answer.
type silent struct{ client.Client }

func (silent) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no answer")
}

func (silent) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no answer")
}

// A rule that cannot be checked is not a rule that holds.
func TestAPIServerErrorsDenyAdmission(t *testing.T) {
	mux := http.NewServeMux()
	scheme, err := dialect.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c := silent{fake.NewClientBuilder().WithScheme(scheme).Build()}
	if err := admission.Handle(mux, []dialect.Dialect{appmesh.Dialect{}}, c, false); err != nil {
		t.Fatal(err)
	}
	response, _ := ask(t, mux, "mutate", `{kind: VirtualNode, metadata: {name: x, namespace: a}}`, "")
	if response.Allowed || response.Result.Code != http.StatusInternalServerError ||
		!strings.Contains(message(response), "no answer") {
		t.Errorf("%+v", response)
	}
}

// FuzzReview posts anything as an object of any kind: there is always an answer, and what is allowed can be patched.
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
				t.Fatalf("%s: no answer: %v: %s", verb, err, recorder.Body)
			}
			if review.Response.Allowed {
				admitted(t, text, *review.Response)
			}
		}
	})
}
