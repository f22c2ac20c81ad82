package observe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	promodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"anymesh.dev/anymesh/charts/dashboard"
)

// measured are cases with the workloads whose requests have all metrics of the dashboard.
var measured = [][2]string{{"retry-default", "front"}, {"gateway", "edge"}, {"into", "front"}}

// maxMetrics limits the size of the metrics of a proxy with few routes. All metrics of these cases have 400 kB.
const maxMetrics = 80_000

// addedLabels are those that Prometheus adds to each target.
var addedLabels = []string{"namespace", "pod"}

// TestDashboardOfMesh checks that each query of the dashboard selects series that the agent gets from both versions of
// Envoy, and uses labels that these have.
func TestDashboardOfMesh(t *testing.T) {
	for _, s := range envoys(t) {
		t.Run(s.Name, func(t *testing.T) {
			var all []map[string]string
			for _, m := range measured {
				all = append(all, series(t, m[0], m[1], s.Name)...)
			}
			for _, q := range dashboard.Mesh.Queries() {
				checkQuery(t, q, all)
			}
			checkUnused(t, all)
			routes := map[string]bool{}
			for _, s := range all {
				if s["__name__"] == "envoy_vhost_route_upstream_rq_total" {
					routes[s["anymesh_service"]+" "+s["anymesh_route"]] = true
				}
			}
			for _, want := range []string{"s.demo all", "g.demo all", "color.demo red", "color.demo blue", "* color_demo"} {
				if !routes[want] {
					t.Errorf("no metrics of route %s, but of %v", want, routes)
				}
			}
		})
	}
}

// checkUnused checks that a destination without requests has the metrics of its endpoints only.
func checkUnused(t *testing.T, all []map[string]string) {
	t.Helper()
	const unused = "cds_egress_m_amazonaws"
	has := func(metric string) bool {
		return slices.ContainsFunc(all, func(s map[string]string) bool {
			return s["__name__"] == metric && s["envoy_cluster_name"] == unused
		})
	}
	if !has("envoy_cluster_membership_total") || has("envoy_cluster_upstream_cx_total") {
		t.Errorf("%s, which has no requests: has membership_total %t, want true; upstream_cx_total %t, want false", unused,
			has("envoy_cluster_membership_total"), has("envoy_cluster_upstream_cx_total"))
	}
}

// envMetrics makes the pod write its metrics.
const envMetrics = "ANYMESH_CONFORMANCE_METRICS"

// insideMetrics sends the requests of a case, and writes what the sidecar then answers to the agent.
func insideMetrics(s Sidecar, out io.Writer) error {
	return inCase(s, func(ctx context.Context, p *casePod) error {
		p.writeDifferences(ctx, out)
		return writeMetrics(ctx, p.discovery.metricsURL, out)
	})
}

// writeMetrics writes what the sidecar answers to the agent.
func writeMetrics(ctx context.Context, url string, out io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	_, err = io.Copy(out, response.Body)
	return err
}

// readCase reads a case of App Mesh.
func readCase(t *testing.T, name string) *Case {
	t.Helper()
	c, err := ReadCase(name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// series returns the labels of the metrics after the requests of a case. Histograms have the names of their parts.
func series(t *testing.T, name, workload, sidecar string) []map[string]string {
	t.Helper()
	lines, err := observe(t.Context(), readCase(t, "appmesh/"+name), workload, sidecar, envMetrics+"=1")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n") + "\n"
	if len(text) > maxMetrics {
		t.Errorf("%s has %d bytes of metrics, more than %d", name, len(text), maxMetrics)
	}
	textParser := expfmt.NewTextParser(promodel.UTF8Validation)
	families, err := textParser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, f := range families {
		for _, m := range f.Metric {
			labels := map[string]string{"__name__": f.GetName()}
			if f.GetType() == dto.MetricType_HISTOGRAM {
				labels["__name__"], labels["le"] = f.GetName()+"_bucket", "1"
			}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			out = append(out, labels)
		}
	}
	return out
}

// checkQuery checks the selectors of a query, and the labels that it groups by and shows.
func checkQuery(t *testing.T, q dashboard.Query, all []map[string]string) {
	t.Helper()
	text := strings.NewReplacer("$namespace", ".*", "$service", ".*").Replace(q.Expr)
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v", q.Expr, err)
		return
	}
	var grouping []string
	known := slices.Clone(addedLabels)
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.AggregateExpr:
			grouping = append(grouping, node.Grouping...)
		case *parser.VectorSelector:
			matches := func(s map[string]string) bool {
				for _, m := range node.LabelMatchers {
					if !m.Matches(s[m.Name]) {
						return false
					}
				}
				return true
			}
			i := slices.IndexFunc(all, matches)
			if i < 0 {
				t.Errorf("no series of the proxy matches %s", node)
				return nil
			}
			for label := range all[i] {
				known = append(known, label)
			}
		}
		return nil
	})
	for _, label := range grouping {
		if !slices.Contains(known, label) {
			t.Errorf("%s: the series have no label %s", q.Expr, label)
		}
	}
	for part := range strings.SplitSeq(q.Legend, "{{") {
		if label, _, is := strings.Cut(part, "}}"); is && !slices.Contains(grouping, label) {
			t.Errorf("%s: the legend has the label %s, which the result has not", q.Expr, label)
		}
	}
}
