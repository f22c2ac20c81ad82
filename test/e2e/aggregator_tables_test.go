package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// tablesManifest registers kinds that the cluster has objects of.
const tablesManifest = `
apiVersion: search.karmada.io/v1alpha1
kind: ResourceRegistry
metadata: {name: tables}
spec:
  targetCluster: {}
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment}
  - {apiVersion: apps/v1, kind: ReplicaSet}
  - {apiVersion: v1, kind: Service}
  - {apiVersion: v1, kind: ConfigMap}
  - {apiVersion: v1, kind: ServiceAccount}
  - {apiVersion: v1, kind: Namespace}
  - {apiVersion: v1, kind: Event, namespace: colors}
  - {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice}
  - {apiVersion: v1, kind: LimitRange}
  - {apiVersion: v1, kind: ResourceQuota}
  - {apiVersion: v1, kind: ReplicationController}
  - {apiVersion: v1, kind: PodTemplate}
  - {apiVersion: v1, kind: Endpoints}
  - {apiVersion: apps/v1, kind: ControllerRevision}
  - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler}
  - {apiVersion: policy/v1, kind: PodDisruptionBudget}
  - {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy}
  - {apiVersion: networking.k8s.io/v1, kind: IngressClass}
  - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass}
  - {apiVersion: node.k8s.io/v1, kind: RuntimeClass}
  - {apiVersion: storage.k8s.io/v1, kind: StorageClass}
  - {apiVersion: storage.k8s.io/v1, kind: VolumeAttachment}
  - {apiVersion: storage.k8s.io/v1, kind: CSIDriver}
  - {apiVersion: storage.k8s.io/v1, kind: CSINode}
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: Role}
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding}
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding}
  - {apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration}
  - {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration}
  - {apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest}
`

// rareManifest has objects of kinds that the example lacks.
const rareManifest = `
apiVersion: v1
kind: Namespace
metadata: {name: tables}
---
apiVersion: v1
kind: LimitRange
metadata: {name: l, namespace: tables}
spec: {limits: [{type: Container, default: {cpu: 100m}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: tables}
spec: {hard: {pods: "3", limits.cpu: "2", requests.memory: 1Gi, count/configmaps: "9"}}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: c, namespace: tables}
spec: {replicas: 0, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: x, image: "y:1"}]}}}
---
apiVersion: v1
kind: PodTemplate
metadata: {name: t, namespace: tables}
template: {metadata: {labels: {a: b}}, spec: {containers: [{name: x, image: "y:1"}, {name: z, image: "y:2"}]}}
---
apiVersion: v1
kind: Endpoints
metadata: {name: e, namespace: tables}
subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], ports: [{name: a, port: 80}, {name: b, port: 81}]}]
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: r, namespace: tables}
revision: 7
data: {x: y}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: h, namespace: tables}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: absent}
  maxReplicas: 5
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1Gi}}}
  - {type: External, external: {metric: {name: queue}, target: {type: Value, value: "30"}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b, namespace: tables}
spec: {maxUnavailable: 30%, selector: {matchLabels: {a: b}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: p, namespace: tables}
spec: {podSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: tables, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}}
spec: {controller: example.com/c, parameters: {apiGroup: example.com, kind: Parameters, name: p}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: tables}
value: 10
preemptionPolicy: Never
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: tables}
handler: h
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: tables, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: example.com/p
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: tables}
spec: {attacher: a.example.com, nodeName: absent, source: {persistentVolumeName: v}}
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: tables.example.com}
spec: {attachRequired: false, tokenRequests: [{audience: a}, {audience: b}], volumeLifecycleModes: [Ephemeral]}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: tables}
spec: {drivers: [{name: a, nodeID: b}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: tables}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: tables}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: u}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: g}
- {kind: ServiceAccount, namespace: tables, name: default}
`

// times are ages, which differ between two tables.
var times = regexp.MustCompile(`\b(\d+[smhdy])+\b`)

// compareTables compares what kubectl prints with and without the aggregator, which adds the column CLUSTER.
func compareTables(t *testing.T, server string) {
	t.Helper()
	for _, manifest := range []string{rareManifest, tablesManifest} {
		if _, err := kubectlInput(t.Context(), manifest, "apply", "-f", "-"); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_, err := kubectlInput(context.Background(), rareManifest, "delete", "-f", "-", "--wait=false", "--ignore-not-found")
		if err != nil {
			t.Error(err)
		}
	})
	run(t, "wait", "--for=condition=Ready", "resourceregistries.search.karmada.io", "tables", "--timeout=180s")
	cells := func(text string, last int) string {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i, line := range lines {
			words := strings.Fields(times.ReplaceAllString(line, "AGE"))
			lines[i] = strings.Join(words[:max(len(words)-last, 0)], " ")
		}
		return strings.Join(lines, "\n")
	}
	for kind, namespace := range map[string]string{
		"deployments,replicasets,services,configmaps,serviceaccounts,endpointslices,pods": "colors",
		"events": "colors",
		"limitranges,resourcequotas,replicationcontrollers,podtemplates,endpoints,controllerrevisions": "tables",
		"horizontalpodautoscalers,poddisruptionbudgets,networkpolicies,roles,rolebindings":             "tables",
		"ingressclasses,priorityclasses,runtimeclasses,clusterrolebindings,certificatesigningrequests": "tables",
		"storageclasses,volumeattachments,csidrivers,csinodes":                                         "tables",
		"mutatingwebhookconfigurations,validatingwebhookconfigurations":                                "tables",
	} {
		eventually(t, 20*time.Second, "table of "+kind, func() error {
			args := []string{"-n", namespace, "get", kind, "-o", "wide"}
			want, got := cells(run(t, args...), 0), cells(run(t, append([]string{"--server", server}, args...)...), 1)
			if got != want {
				return fmt.Errorf("through the aggregator:\n%s\nwant:\n%s", got, want)
			}
			return nil
		})
	}
}
