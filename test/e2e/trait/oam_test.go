package trait

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
)

// application is an application with a component and a Route without workloadRef.
const application = `
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: shop}
spec:
  components:
    - componentName: web
      parameterValues: PARAMETERS
      traits:
        - trait:
            apiVersion: standard.oam.dev/v1alpha1
            kind: Route
            spec: {host: shop.example.com}
---
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: web}
spec:
  parameters: [{name: image, fieldPaths: [PATH]}]
  workload:
`

const containerizedWorkload = `
    apiVersion: core.oam.dev/v1alpha2
    kind: ContainerizedWorkload
    spec:
      osType: linux
      containers:
        - name: web
          image: replaced
          ports: [{name: http, containerPort: 80}, {name: admin, containerPort: 81}]
          env: [{name: A, value: b}, {name: S, fromSecret: {name: s, key: k}}]
          config: [{path: /etc/web.conf, value: text}]
          resources: {cpu: {required: 10m}, memory: {required: 16Mi}, volumes: [{name: cache, mountPath: /cache}]}
          readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 5}
`

const podSpecWorkload = `
    apiVersion: standard.oam.dev/v1alpha1
    kind: PodSpecWorkload
    spec: {podSpec: {containers: [{name: web, image: replaced, ports: [{containerPort: 80}, {containerPort: 53, protocol: UDP}]}]}}
`

func applicationOf(t *testing.T, namespace string) core.ApplicationConfiguration {
	t.Helper()
	var out core.ApplicationConfiguration
	o := get(t, "core.oam.dev/v1alpha2", "ApplicationConfiguration", namespace, "shop")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestApplications(t *testing.T) {
	for name, c := range map[string]struct {
		workload, path string
		port           int64 // of the Service that the Route uses
	}{
		"ContainerizedWorkload": {containerizedWorkload, "'spec.containers[0].image'", 80},
		"PodSpecWorkload":       {podSpecWorkload, "'spec.podSpec.containers[0].image'", 8080},
	} {
		t.Run(name, func(t *testing.T) {
			registry := start(t)
			ns := newNamespace(t)
			text := strings.NewReplacer("PARAMETERS", "[{name: image, value: shop}]", "PATH", c.path).Replace(application)
			apply(t, ns, text+strings.TrimPrefix(c.workload, "\n"))
			var trait string
			eventually(t, "the status of the application", func() error {
				a := applicationOf(t, ns)
				if len(a.Status.Workloads) != 1 || len(a.Status.Conditions) != 1 || a.Status.Conditions[0].Status != "True" {
					return fmt.Errorf("%+v", a.Status)
				}
				w := a.Status.Workloads[0]
				if len(w.Traits) != 1 || w.Reference.Kind != name || w.Reference.UID == "" {
					return fmt.Errorf("%+v", a.Status)
				}
				trait = w.Traits[0].Reference.Name
				return nil
			})
			if !strings.HasPrefix(trait, "web-trait-") {
				t.Errorf("the Route is named %s", trait)
			}
			r := routeOf(t, ns, trait)
			if ref := r.Spec.WorkloadReference; ref.Kind != name || ref.Name != "web" {
				t.Errorf("workloadRef is %+v", ref)
			}
			if r.Labels["app.oam.dev/name"] != "shop" || r.Labels["app.oam.dev/component"] != "web" {
				t.Errorf("labels are %v", r.Labels)
			}
			serve(t, ns, trait+"-auto-created-tiny")
			eventually(t, "the Route", func() error { return wantReady(t, ns, trait, "True", "Available") })
			if used := routeOf(t, ns, trait).Status.Service; used == nil || used.Name != "web" {
				t.Errorf("the Route uses the Service %+v", used)
			}
			ports, _, _ := unstructured.NestedSlice(get(t, "v1", "Service", ns, "web").Object, "spec", "ports")
			if got := ports[0].(map[string]any); got["port"] != c.port || got["targetPort"] != int64(80) {
				t.Errorf("the Service has the ports %v", ports)
			}
			d := get(t, "apps/v1", "Deployment", ns, "web")
			containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
			if got := containers[0].(map[string]any)["image"]; got != "shop" {
				t.Errorf("the image is %v", got)
			}
			podLabels, _, _ := unstructured.NestedStringMap(d.Object, "spec", "template", "metadata", "labels")
			if podLabels["app.oam.dev/component"] != "web" {
				t.Errorf("the labels of the pods are %v", podLabels)
			}
			start := settled(t, registry)
			apply(t, ns, before(text))
			remove(t, "v1", "Service", ns, "web")
			eventually(t, "the Service again", func() error {
				if get(t, "v1", "Service", ns, "web") == nil {
					return fmt.Errorf("there is none")
				}
				return nil
			})
			// The Route may have a Service of its own for a moment, which is created and deleted.
			if after := settled(t, registry); after.writes-start.writes > 8 {
				t.Errorf("a deleted Service costs %d writes", after.writes-start.writes)
			}
		})
	}
}

func TestApplicationNamesWhatIsMissing(t *testing.T) {
	start(t)
	ns := newNamespace(t)
	reason := func(want string) func() error {
		return func() error {
			for _, c := range applicationOf(t, ns).Status.Conditions {
				if c.Type == "Synced" && c.Reason == want {
					return nil
				}
			}
			return fmt.Errorf("%+v", applicationOf(t, ns).Status)
		}
	}
	text := strings.NewReplacer("PARAMETERS", "[]", "PATH", "spec.x").Replace(application)
	apply(t, ns, before(text))
	eventually(t, "no component", reason("ComponentNotFound"))
	apply(t, ns, after(text)+strings.TrimPrefix(podSpecWorkload, "\n"))
	eventually(t, "a component", reason("ReconcileSuccess"))
	apply(t, ns, `
apiVersion: core.oam.dev/v1alpha2
kind: TraitDefinition
metadata: {name: routes.standard.oam.dev}
spec: {definitionRef: {name: routes.standard.oam.dev}, workloadRefPath: spec.workloadRef, appliesToWorkloads: [deployments.apps]}
`)
	eventually(t, "a trait for other workloads", reason("TraitNotApplicable"))
}
