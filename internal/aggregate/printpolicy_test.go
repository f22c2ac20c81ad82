package aggregate

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/aggregate/cache"
)

func TestPrintersOfRareKinds(t *testing.T) {
	const named = `"metadata":{"name":"n"}`
	for _, c := range []struct{ kind, object, want string }{
		{"policy/v1/PodDisruptionBudget", `{` + named + `,"spec":{"minAvailable":2},"status":{"disruptionsAllowed":1}}`,
			"[n 2 N/A 1 <unknown>]"},
		{"policy/v1/PodDisruptionBudget", `{` + named + `,"spec":{"maxUnavailable":"30%"}}`, "[n N/A 30% 0 <unknown>]"},
		{"v1/ResourceQuota", `{` + named + `,"status":{"hard":{"pods":"3","limits.cpu":"2","cpu":"4"},"used":{"pods":"1"}}}`,
			"[n cpu: 0/4, pods: 1/3 limits.cpu: 0/2 <unknown>]"},
		{"networking.k8s.io/v1/NetworkPolicy", `{` + named + `,"spec":{"podSelector":{"matchLabels":{"a":"b"}}}}`, "[n a=b <unknown>]"},
		{"networking.k8s.io/v1/NetworkPolicy", `{` + named + `}`, "[n <none> <unknown>]"},
		{"networking.k8s.io/v1/IngressClass", `{"metadata":{"name":"n","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},` +
			`"spec":{"controller":"c","parameters":{"kind":"P","apiGroup":"g","name":"x"}}}`, "[n (default) c P.g/x <unknown>]"},
		{"scheduling.k8s.io/v1/PriorityClass", `{` + named + `,"value":7,"preemptionPolicy":"Never"}`, "[n 7 false <unknown> Never]"},
		{"node.k8s.io/v1/RuntimeClass", `{` + named + `,"handler":"h"}`, "[n h <unknown>]"},
		{"rbac.authorization.k8s.io/v1/RoleBinding", `{` + named + `,"roleRef":{"kind":"Role","name":"r"},"subjects":[` +
			`{"kind":"User","name":"u"},{"kind":"User","name":"v"},{"kind":"ServiceAccount","namespace":"a","name":"b"}]}`,
			"[n Role/r <unknown> u, v  a/b]"},
		{"certificates.k8s.io/v1/CertificateSigningRequest", `{` + named + `,"spec":{"signerName":"s","username":"u",` +
			`"expirationSeconds":3600},"status":{"certificate":"YQ==","conditions":[{"type":"Approved"}]}}`,
			"[n <unknown> s u 60m Approved,Issued]"},
		{"apps/v1/ControllerRevision", `{"metadata":{"name":"n","ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet",` +
			`"name":"d","controller":true}]},"revision":3}`, "[n daemonset.apps/d 3 <unknown>]"},
		{"v1/Endpoints", `{` + named + `,"subsets":[{"addresses":[{"ip":"1"},{"ip":"2"}],"ports":[{"port":80},{"port":81}]}]}`,
			"[n 1:80,2:80,1:81 + 1 more... <unknown>]"},
		{"v1/Endpoints", `{` + named + `}`, "[n <none> <unknown>]"},
		{"storage.k8s.io/v1/StorageClass", `{` + named + `,"provisioner":"p","allowVolumeExpansion":true}`,
			"[n p Delete Immediate true <unknown>]"},
		{"storage.k8s.io/v1/CSIDriver", `{` + named + `,"spec":{"tokenRequests":[{"audience":"a"}]}}`,
			"[n true false false a false <none> <unknown>]"},
		{"autoscaling/v2/HorizontalPodAutoscaler", `{` + named + `,"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},` +
			`"maxReplicas":5,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":70}}},` +
			`{"type":"Pods","pods":{"target":{"averageValue":"2"}}},{"type":"X"}]},"status":{"currentReplicas":2,"currentMetrics":[` +
			`{"type":"Resource","resource":{"current":{"averageUtilization":12}}}]}}`,
			"[n Deployment/d cpu: 12%/70%, <unknown>/2 + 1 more... <unset> 5 2 <unknown>]"},
		{"autoscaling/v2/HorizontalPodAutoscaler", `{` + named + `,"spec":{"minReplicas":1,"metrics":[` +
			`{"type":"External","external":{"target":{"averageValue":"3"}}},{"type":"Object","object":{"target":{"value":"4"}}}]},` +
			`"status":{"currentMetrics":[{"external":{"current":{"averageValue":"1"}}},{"object":{"current":{"value":"9"}}}]}}`,
			"[n / 1/3 (avg), 9/4 1 0 0 <unknown>]"},
	} {
		checkPrinter(t, c.kind, c.object, c.want)
	}
}

// TestKindsWithoutColumnsHaveTheTimeOfTheirCreation guards tables of built-in kinds for which kube-apiserver has no
// columns. Custom resources have Age.
func TestKindsWithoutColumnsHaveTheTimeOfTheirCreation(t *testing.T) {
	const object = `{"metadata":{"name":"n","creationTimestamp":"2026-01-02T03:04:05Z"}}`
	for kind, want := range map[string]string{
		"rbac.authorization.k8s.io/v1/Role": "Name Created At [n 2026-01-02T03:04:05Z]", "example.org/v1/Widget": "Name Age [n",
	} {
		parts := strings.Split(kind, "/")
		k := &registered{kind: cache.Kind{Kind: parts[2]}}
		k.kind.Resource.Group, k.kind.Resource.Version = parts[0], parts[1]
		p := printerOf(k)
		cells, err := p.cells([]byte(object))
		got := columnNames(p.columns) + " " + fmt.Sprint(cells)
		if !strings.HasPrefix(got, want) || err != nil {
			t.Errorf("%s: %s, %v", kind, got, err)
		}
	}
}

func columnNames(columns []metav1.TableColumnDefinition) string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}
