package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// applicationKinds are workloads of applications, each with a Service that the Route finds in another way.
var applicationKinds = []struct {
	name string
	// workload is that of the Component. Its containers have the port 9090.
	workload string
	// found is what anymesh describe says about the Service.
	found string
}{
	{
		"podspec", `{apiVersion: standard.oam.dev/v1alpha1, kind: PodSpecWorkload, spec: {podSpec: ` + podSpecOf("podspec") + `}}`,
		"Service podspec port 8080\n    Service: PodSpecWorkload podspec owns it (step 1 of discovery)",
	},
	{
		"podspecable", `{apiVersion: apps/v1, kind: Deployment, spec: ` + deploymentOf("podspecable") + `}`,
		"with the ports and labels of Deployment podspecable (step 2.1 of discovery)",
	},
	{
		"podspecpath", `{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {workload.oam.dev/type: server}}, spec: ` +
			deploymentOf("podspecpath") + `}`,
		"with the ports and labels of Deployment podspecpath at spec.template.spec (step 2.1 of discovery)",
	},
	{
		"machine", `{apiVersion: example.com/v1, kind: Machine, spec: {}}`,
		"with the ports and labels of Deployment machine-pods (step 2.2 of discovery)",
	},
}

// applicationManifests are the definitions of these workloads. The control plane may write the custom kind.
const applicationManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: oam}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machines.example.com}
spec:
  group: example.com
  names: {kind: Machine, plural: machines}
  scope: Namespaced
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: routes-machines, labels: {anymesh.dev/aggregate-to-route-trait: "true"}}
rules: [{apiGroups: [example.com], resources: [machines, machines/finalizers], verbs: [get, list, watch, create, patch, update, delete]}]
---
apiVersion: core.oam.dev/v1alpha2
kind: WorkloadDefinition
metadata: {namespace: oam, name: deployments.apps, labels: {workload.oam.dev/podspecable: "true"}}
spec: {definitionRef: {name: deployments.apps}}
---
apiVersion: core.oam.dev/v1alpha2
kind: WorkloadDefinition
metadata: {namespace: oam, name: server}
spec: {definitionRef: {name: deployments.apps}, podSpecPath: spec.template.spec}
`

func podSpecOf(version string) string {
	return fmt.Sprintf(`{containers: [{name: app, image: anymesh.dev/colors, args: [serve, --version=%s, --listen=:9090], `+
		`ports: [{containerPort: 9090}], readinessProbe: {httpGet: {path: /ping, port: 9090}, periodSeconds: 1}}]}`, version)
}

func deploymentOf(name string) string {
	return fmt.Sprintf(`{selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: %s}}`, name, name,
		podSpecOf(name))
}

// componentOf is a Component and an ApplicationConfiguration with a Route.
func componentOf(name, workload string) string {
	return strings.NewReplacer("NAME", name, "WORKLOAD", workload).Replace(`
---
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {namespace: oam, name: NAME}
spec: {workload: WORKLOAD}
---
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {namespace: oam, name: NAME}
spec:
  components:
    - componentName: NAME
      traits:
        - trait:
            apiVersion: standard.oam.dev/v1alpha1
            kind: Route
            metadata: {name: NAME-site}
            spec: {host: NAME.oam.example, rules: [{name: all, customHeaders: {X-Tenant: NAME}}]}
`)
}

// TestRouteOfApplications checks that Routes of applications lead to their workloads, whichever way the Service is
// found, and that anymesh describe and explain say how.
func TestRouteOfApplications(t *testing.T) {
	enableGateway(t)
	manifests := applicationManifests
	for _, k := range applicationKinds {
		manifests += componentOf(k.name, k.workload)
	}
	apply(t, manifests)
	// The controller of Machines, which this test is, runs a Deployment for each.
	uid := ""
	eventually(t, 30*time.Second, "the Machine of the application", func() (err error) {
		uid, err = kubectl(t.Context(), "-n", "oam", "get", "machine", "machine", "-o", "jsonpath={.metadata.uid}")
		return err
	})
	apply(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  namespace: oam
  name: machine-pods
  ownerReferences: [{apiVersion: example.com/v1, kind: Machine, name: machine, uid: %s}]
spec: %s
`, uid, deploymentOf("machine")))
	g := forwardGateway(t, nil)
	t.Run("kinds", func(t *testing.T) {
		for _, k := range applicationKinds {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				eventually(t, 60*time.Second, "the Route is Ready", func() error {
					state := run(t, "-n", "oam", "get", "route.standard.oam.dev", k.name+"-site", "-o", "jsonpath={.status.status} {.status.conditions}")
					if !strings.HasPrefix(state, "Ready ") {
						return fmt.Errorf("status %s", state)
					}
					return nil
				})
				eventually(t, 30*time.Second, "a response", func() error {
					r, err := g.get(t, "http://"+k.name+".oam.example/x")
					return wantResponse(r, err, r.Status == 200 && r.Version == k.name && r.Header.Get("X-Tenant") == k.name,
						"the version "+k.name)
				})
				wantOutput(t, []string{k.found, "Ready True Available", "\n  served\n"}, "describe", "route/"+k.name+"-site", "-n", "oam")
				wantOutput(t, []string{"is of Route oam/" + k.name + "-site, rule all", "header x-tenant: " + k.name},
					"explain", "http://"+k.name+".oam.example/x")
			})
		}
	})
	wantOutput(t, []string{"podspec.oam.example", "oam/podspec:8080"}, "graph", "--mesh", "ingress")
}
