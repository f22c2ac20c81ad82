// Package docs generates documentation from tables in the code: admission.md, alerts.md, appmesh.md, check.md,
// commands.md, drivers.md, findings.md, l7mp.md, limits.md, osm.md, proxy-objects.md, route-fields.md and a page for
// each code in findings/.
//
// In: the tables of finding codes, checks and limits, and the features that each driver supports. Out: pages. A test
// checks that the files are up to date.
package docs

//go:generate go run ./generate
