// Package charts holds the Helm chart, which is the one source of the manifests that `anymesh install` applies, and of
// the version.
package charts

import (
	"embed"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Anymesh is the chart, without the CustomResourceDefinitions, which are in package crds.
//
//go:embed all:anymesh/Chart.yaml all:anymesh/values.yaml all:anymesh/dialects.yaml all:anymesh/values.schema.json all:anymesh/templates all:anymesh/dashboards
var Anymesh embed.FS

// Version is the appVersion of the chart: the version of the program, of the images and of the chart itself.
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
		panic(fmt.Sprintf("charts/anymesh/Chart.yaml, which is part of the program: %v", err))
	}
	return chart.AppVersion
}
