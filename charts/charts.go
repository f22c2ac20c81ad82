// Package charts holds the Helm chart, which is the one source of the manifests that `anymesh install` applies.
package charts

import "embed"

// Anymesh is the chart, without the CustomResourceDefinitions, which are in package crds.
//
//go:embed all:anymesh/Chart.yaml all:anymesh/values.yaml all:anymesh/dialects.yaml all:anymesh/values.schema.json all:anymesh/templates all:anymesh/dashboards
var Anymesh embed.FS
