// Package dashboard makes the Grafana dashboard of the control plane.
//
// Nothing goes in; out come the dashboard's JSON, which the Helm chart carries, and its queries, which a test of the
// control plane compares with the metrics that exist.
package dashboard

import (
	"encoding/json"
	"fmt"
)

// Query is one line of a panel, in PromQL.
type Query struct {
	Expr, Legend string
}

// panel is a picture of a few queries.
type panel struct {
	title, text, unit string
	queries           []Query
}

// row is a heading with the panels below it.
type row struct {
	title  string
	panels []panel
}

// Queries gives the queries of all panels.
func Queries() []Query {
	var out []Query
	for _, r := range rows {
		for _, p := range r.panels {
			out = append(out, p.queries...)
		}
	}
	return out
}

// The grid of a dashboard has 24 columns.
const panelWidth, panelHeight = 8, 8

// JSON gives the dashboard as Grafana imports it. The data source is a variable.
func JSON() []byte {
	panels := []any{}
	y, number := 0, 1
	for _, r := range rows {
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
		"uid": "anymesh", "title": "Anymesh control plane", "tags": []string{"anymesh"}, "schemaVersion": 39,
		"refresh": "30s",
		"time":    map[string]any{"from": "now-1h", "to": "now"}, "timezone": "", "editable": true, "panels": panels,
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
		}},
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("dashboard: %v", err)) // there is nothing in it that has no JSON
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
