// Package dashboard generates the Grafana dashboards of the control plane and of the mesh.
//
// In: nothing. Out: the JSON of the dashboards, which the Helm chart contains, and their queries, which tests compare
// with the metrics of the control plane and of a real proxy.
package dashboard

import (
	"encoding/json"
	"fmt"
)

// Query is a PromQL query of a panel.
type Query struct {
	Expr, Legend string
}

// panel is a time series panel.
type panel struct {
	title, text, unit string
	queries           []Query
}

// row is a titled group of panels.
type row struct {
	title  string
	panels []panel
}

// Dashboard is a dashboard of Grafana. File is its file in the folder dashboards of the chart.
type Dashboard struct {
	File       string
	uid, title string
	rows       []row
	// variables are those besides the data source.
	variables []any
}

// ControlPlane has the state of the control plane, Mesh the requests of the services and routes.
var (
	ControlPlane = Dashboard{File: "anymesh.json", uid: "anymesh", title: "Anymesh control plane", rows: rows}
	Mesh         = Dashboard{
		File: "mesh.json", uid: "anymesh-mesh", title: "Anymesh services and routes", rows: meshRows,
		variables: []any{
			variable("namespace", "Namespace of the callers", `label_values(envoy_server_live, namespace)`),
			variable("service", "Service", `label_values(envoy_vhost_route_upstream_rq_total, anymesh_service)`),
		},
	}
)

// variable has the values of a label; by default, all of them.
func variable(name, label, query string) any {
	return map[string]any{
		"name": name, "label": label, "type": "query", "query": query, "refresh": 2, "multi": true, "includeAll": true,
		"allValue": ".*", "datasource": map[string]any{"type": "prometheus", "uid": "${datasource}"},
	}
}

// Queries returns the queries of all panels.
func (d Dashboard) Queries() []Query {
	var out []Query
	for _, r := range d.rows {
		for _, p := range r.panels {
			out = append(out, p.queries...)
		}
	}
	return out
}

// The dashboard grid has 24 columns.
const panelWidth, panelHeight = 8, 8

// JSON returns the dashboard in the import format of Grafana. The data source is a variable.
func (d Dashboard) JSON() []byte {
	panels := []any{}
	y, number := 0, 1
	for _, r := range d.rows {
		panels = append(panels, map[string]any{
			"id": number, "type": "row", "title": r.title, "collapsed": false, "panels": []any{},
			"gridPos": position(0, y, 24, 1),
		})
		number++
		y++
		for i, p := range r.panels {
			if i > 0 && i%(24/panelWidth) == 0 {
				y += panelHeight
			}
			panels = append(panels,
				p.render(number, position(i%(24/panelWidth)*panelWidth, y, panelWidth, panelHeight)))
			number++
		}
		y += panelHeight
	}
	text, err := json.MarshalIndent(map[string]any{
		"uid": d.uid, "title": d.title, "tags": []string{"anymesh"}, "schemaVersion": 39,
		"refresh": "30s",
		"time":    map[string]any{"from": "now-1h", "to": "now"}, "timezone": "", "editable": true, "panels": panels,
		"templating": map[string]any{"list": append([]any{
			map[string]any{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
		}, d.variables...)},
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("dashboard: %v", err)) // all values can be encoded as JSON
	}
	return append(text, '\n')
}

func (p panel) render(number int, at map[string]any) map[string]any {
	source := map[string]any{"type": "prometheus", "uid": "${datasource}"}
	targets := []any{}
	for i, q := range p.queries {
		targets = append(targets, map[string]any{
			"refId": string(rune('A' + i)), "datasource": source, "expr": q.Expr, "legendFormat": q.Legend,
		})
	}
	return map[string]any{
		"id": number, "type": "timeseries", "title": p.title, "description": p.text, "datasource": source,
		"gridPos": at, "targets": targets,
		"fieldConfig": map[string]any{"defaults": map[string]any{"unit": p.unit, "min": 0}, "overrides": []any{}},
	}
}

func position(x, y, w, h int) map[string]any { return map[string]any{"x": x, "y": y, "w": w, "h": h} }
