// Package dashboard generates the Grafana dashboard of the control plane.
//
// In: nothing. Out: the JSON of the dashboard, which the Helm chart contains, and its queries, which a test of the
// control plane compares with the existing metrics.
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

// Queries returns the queries of all panels.
func Queries() []Query {
	var out []Query
	for _, r := range rows {
		for _, p := range r.panels {
			out = append(out, p.queries...)
		}
	}
	return out
}

// The dashboard grid has 24 columns.
const panelWidth, panelHeight = 8, 8

// JSON returns the dashboard in the import format of Grafana. The data source is a variable.
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
