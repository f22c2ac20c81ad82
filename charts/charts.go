// Package charts contains the Helm chart. It is the only source of the manifests that `anymesh install` applies, and
// of the version.
package charts

import (
	"embed"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Anymesh is the chart, without the CustomResourceDefinitions, which are in package crds.
//
//go:embed all:anymesh/Chart.yaml all:anymesh/values.yaml all:anymesh/dialects.yaml all:anymesh/alerts.yaml all:anymesh/values.schema.json all:anymesh/templates all:anymesh/dashboards
var Anymesh embed.FS

// Version returns the appVersion of the chart, which is also the version of the program and of the images.
func Version() string {
	var chart struct {
		AppVersion string `json:"appVersion"`
	}
	text, err := Anymesh.ReadFile("anymesh/Chart.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &chart)
	}
	if err == nil && chart.AppVersion == "" {
		err = fmt.Errorf("no appVersion")
	}
	if err != nil {
		panic(fmt.Sprintf("charts/anymesh/Chart.yaml: %v", err))
	}
	return chart.AppVersion
}
