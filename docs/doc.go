// Package docs holds the documentation that is generated from tables in the code: admission.md, appmesh.md,
// check.md, drivers.md, findings.md, limits.md and a page for each code in findings/.
//
// In: the tables of finding codes, of checks and of limits, the features of the model and what each driver supports. Out: pages that
// cannot be out of date, since a test compares them.
package docs

//go:generate go run ./generate
