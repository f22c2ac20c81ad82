package install

import (
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"anymesh.dev/anymesh/charts/alerts"
)

// podMonitor has the fields of the kind of the Prometheus Operator that the chart sets.
type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NamespaceSelector struct {
			Any bool `json:"any"`
		} `json:"namespaceSelector"`
		Selector  metav1.LabelSelector                    `json:"selector"`
		Endpoints []struct{ Port, Path, Interval string } `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// TestPodMonitor checks that the PodMonitors select the pods of the chart and pods with a sidecar, by a port that they
// have.
func TestPodMonitor(t *testing.T) {
	for _, o := range renderWith(t, `{}`) {
		if strings.Contains(o.GetAPIVersion(), "monitoring.coreos.com") {
			t.Errorf("got %s %s by default", o.GetKind(), o.GetName())
		}
	}
	objects := renderWith(t, `{podMonitor: {enabled: true, interval: 15s, labels: {release: prometheus}}, aggregator: {enabled: true}}`)
	m := typed[podMonitor](t, find(t, objects, "PodMonitor", "anymesh"))
	selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	if e := m.Spec.Endpoints; len(e) != 1 || e[0].Path != "/metrics" || e[0].Interval != "15s" || m.Labels["release"] != "prometheus" {
		t.Errorf("the PodMonitor is %+v", m)
	}
	for _, name := range []string{"anymesh", "anymesh-aggregator"} {
		d := typed[appsv1.Deployment](t, find(t, objects, "Deployment", name))
		if !selector.Matches(labels.Set(d.Spec.Template.Labels)) {
			t.Errorf("%s does not select the pods of %s", selector, name)
		}
		var ports []string
		for _, p := range d.Spec.Template.Spec.Containers[0].Ports {
			ports = append(ports, p.Name)
		}
		if !strings.Contains(strings.Join(ports, " "), m.Spec.Endpoints[0].Port) {
			t.Errorf("%s has the ports %v, not %s", name, ports, m.Spec.Endpoints[0].Port)
		}
	}
	sidecars := typed[podMonitor](t, find(t, objects, "PodMonitor", "anymesh-sidecars"))
	if e := sidecars.Spec.Endpoints; !sidecars.Spec.NamespaceSelector.Any || len(e) != 1 || e[0].Port != "agent" ||
		sidecars.Spec.Selector.MatchExpressions[0].Key != "anymesh.dev/proxy-uuid" {
		t.Errorf("the PodMonitor of sidecars is %+v", sidecars.Spec)
	}
}

// prometheusRule has the fields of the kind of the Prometheus Operator that the chart sets.
type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		} `json:"groups"`
	} `json:"spec"`
}

// TestPrometheusRule checks that the rule has all alerts, with links to sections of a page that exists.
func TestPrometheusRule(t *testing.T) {
	objects := renderWith(t, `{prometheusRule: {enabled: true, runbookURL: "https://example.org/docs/alerts.md"}}`)
	rule := typed[prometheusRule](t, find(t, objects, "PrometheusRule", "anymesh"))
	page, err := os.ReadFile("../../../docs/" + alerts.Page)
	if err != nil {
		t.Fatal(err)
	}
	got := rule.Spec.Groups[0].Rules
	if len(got) != len(alerts.All()) {
		t.Fatalf("got %d alerts, want %d", len(got), len(alerts.All()))
	}
	for i, want := range alerts.All() {
		link := "https://example.org/docs/alerts.md#" + want.Anchor()
		if got[i].Alert != want.Name || got[i].Expr != want.Expr || got[i].For != want.For ||
			got[i].Labels["severity"] != want.Severity || got[i].Annotations["summary"] != want.Summary ||
			got[i].Annotations["runbook_url"] != link {
			t.Errorf("got %+v, want %+v with link %s", got[i], want, link)
		}
		if !strings.Contains(strings.ToLower(string(page)), "\n## "+want.Anchor()+"\n") {
			t.Errorf("docs/%s has no section %s", alerts.Page, want.Anchor())
		}
	}
}

// TestMissingKind checks that nothing is applied to a cluster without the kinds of the Prometheus Operator.
func TestMissingKind(t *testing.T) {
	c := newCluster(interceptor.Funcs{})
	objects := renderWith(t, `{prometheusRule: {enabled: true}}`)
	err := Apply(t.Context(), c, objects, func(what string) { t.Errorf("applied %s", what) })
	if err == nil || !strings.Contains(err.Error(), "the cluster does not have the kind PrometheusRule of monitoring.coreos.com/v1") {
		t.Errorf("got error %v", err)
	}
}

// TestNotes checks that Helm prints five lines, with the namespace of the control plane.
func TestNotes(t *testing.T) {
	for namespace, flag := range map[string]bool{"anymesh-system": false, "elsewhere": true} {
		texts, err := renderTexts(Options{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		text := texts["anymesh/templates/"+notes]
		if strings.Count(text, "\n") != 5 || !strings.Contains(text, "kubectl -n "+namespace+" rollout") ||
			strings.Contains(text, "--system-namespace elsewhere") != flag {
			t.Errorf("in namespace %s:\n%s", namespace, text)
		}
	}
}
