package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	json, err := yaml.YAMLToJSON([]byte("apiVersion: v1\nkind: Service\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(json); err != nil {
		t.Fatal(err)
	}
	return o
}

// fields are managedFields of the controller for a Service with a label, a selector and a port.
const fields = `
  managedFields:
    - manager: other
      operation: Apply
      fieldsV1: {"f:spec": {"f:type": {}}}
    - manager: anymesh-route
      operation: Apply
      fieldsV1:
        f:metadata: {f:labels: {"f:a": {}}, f:finalizers: {'v:"x"': {}}}
        f:spec: {f:selector: {}, f:ports: {'k:{"port":80,"protocol":"TCP"}': {".": {}, f:port: {}, f:name: {}}}}
`

func TestDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		want, now string
		differs   bool
	}{
		"equal": {
			"metadata: {labels: {a: b}, finalizers: [x]}\nspec: {selector: {app: web}, ports: [{name: n, port: 80}]}",
			"metadata:\n  labels: {a: b, other: c}\n  finalizers: [x]" + fields + "spec: {type: ClusterIP, selector: {app: web}, ports: [{name: n, port: 80, protocol: TCP}]}",
			false,
		},
		"another value": {
			"metadata: {labels: {a: b}, finalizers: [x]}\nspec: {selector: {app: web}, ports: [{name: n, port: 80}]}",
			"metadata:\n  labels: {a: c}\n  finalizers: [x]" + fields + "spec: {selector: {app: web}, ports: [{name: n, port: 80, protocol: TCP}]}",
			true,
		},
		"a field that is no longer wanted": {
			"metadata: {finalizers: [x]}\nspec: {selector: {app: web}, ports: [{name: n, port: 80}]}",
			"metadata:\n  labels: {a: b}\n  finalizers: [x]" + fields + "spec: {selector: {app: web}, ports: [{name: n, port: 80, protocol: TCP}]}",
			true,
		},
		"an item that is no longer wanted": {
			"metadata: {labels: {a: b}}\nspec: {selector: {app: web}, ports: [{name: n, port: 80}]}",
			"metadata:\n  labels: {a: b}\n  finalizers: [x]" + fields + "spec: {selector: {app: web}, ports: [{name: n, port: 80, protocol: TCP}]}",
			true,
		},
		"another port": {
			"metadata: {labels: {a: b}, finalizers: [x]}\nspec: {selector: {app: web}, ports: [{name: n, port: 81}]}",
			"metadata:\n  labels: {a: b}\n  finalizers: [x]" + fields + "spec: {selector: {app: web}, ports: [{name: n, port: 80, protocol: TCP}]}",
			true,
		},
		"an additional item": {
			"metadata: {labels: {a: b}, finalizers: [x]}\nspec: {selector: {app: web}, ports: [{name: n, port: 80}, {port: 81}]}",
			"metadata:\n  labels: {a: b}\n  finalizers: [x]" + fields + "spec: {selector: {app: web}, ports: [{name: n, port: 80, protocol: TCP}]}",
			true,
		},
		"never applied": {"spec: {}", "spec: {}", true},
		"empty maps and nulls": {
			"metadata: {labels: {a: b}, finalizers: [x], annotations: {}}\nspec: {selector: {}, ports: [{name: n, port: 80}], x: null}",
			"metadata:\n  labels: {a: b}\n  finalizers: [x]" + fields + "spec: {selector: {}, ports: [{name: n, port: 80, protocol: TCP}]}",
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := differs(object(t, c.want), object(t, c.now), ""); got != c.differs {
				t.Errorf("differs is %t", got)
			}
		})
	}
}

func TestStatusDiffers(t *testing.T) {
	owned := `
metadata:
  managedFields:
    - {manager: anymesh-route, operation: Apply, subresource: status, fieldsV1: {"f:status": {"f:status": {}, "f:service": {"f:name": {}}}}}
`
	for want, differing := range map[string]bool{
		"status: {status: Ready, service: {name: a}}":  false,
		"status: {status: Ready}":                      true,
		"status: {status: Synced, service: {name: a}}": true,
	} {
		if got := differs(object(t, want), object(t, owned+"status: {status: Ready, service: {name: a}, other: x}"), "status"); got != differing {
			t.Errorf("%s: differs is %t", want, got)
		}
	}
}

func TestTrim(t *testing.T) {
	pod := object(t, "metadata: {name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}\nspec: {nodeName: n, containers: [{name: c, image: i, env: [], ports: [{containerPort: 80}]}]}\nstatus: {phase: Running}")
	pod.SetKind("Pod")
	changed := pod.DeepCopy()
	changed.Object["status"] = map[string]any{"phase": "Failed"}
	changed.SetResourceVersion("2")
	for _, o := range []*unstructured.Unstructured{pod, changed} {
		if _, err := trim(o); err != nil {
			t.Fatal(err)
		}
	}
	if !sameContent(pod, changed) {
		t.Errorf("a changed status is a change: %v", changed.Object)
	}
	text, _ := yaml.Marshal(pod.Object)
	want := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: c\n    ports:\n    - containerPort: 80\n"
	if string(text) != want {
		t.Errorf("got\n%s", text)
	}
	secret := object(t, "data: {tls.crt: YQ==, password: Yg==}")
	secret.SetKind("Secret")
	if _, err := trim(secret); err != nil {
		t.Fatal(err)
	}
	if data := secret.Object["data"].(map[string]any); len(data) != 1 || data["tls.crt"] == nil {
		t.Errorf("the Secret has %v", data)
	}
}
