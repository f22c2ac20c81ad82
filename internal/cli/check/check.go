// Package check checks the requirements and the health of an Anymesh installation.
//
// In: a cluster, with the permissions of the user. Out: one Result per check, in order. A failed check has its code,
// meaning and remedy. docs/check.md is generated from the same table.
package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/build"
	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
)

// Cluster is the input of checks.
type Cluster struct {
	Host   string
	Client client.Client
	Kube   kubernetes.Interface
	// Dialects are the dialects of this program.
	Dialects []dialect.Dialect
	// Configured returns them with the settings of the control plane; the defaults if it is not installed.
	Configured func(context.Context) ([]dialect.Dialect, error)
	// Namespace is the namespace of the control plane.
	Namespace string
	// Sidecars lists the sidecars connected to all control planes; State computes the mesh.
	Sidecars func(context.Context) ([]inspect.Sidecar, error)
	State    func(context.Context) (*engine.State, error)
	// Settings reads the settings of the control plane; the defaults if it is not installed.
	Settings func(context.Context) (engine.Settings, error)
	// Now is the time for the validity of certificates.
	Now time.Time
}

// Check is one check.
type Check struct {
	Code Code
	// Title is the condition that the check tests, for example "the control plane is ready".
	Title string
	// Meaning explains a failure; Remedy tells how to fix it.
	Meaning, Remedy string
	// Stage selects the runs that include the check.
	Stage Stage
	// Needs is the check that must pass first; empty if there is none.
	Needs Code
	// run returns a detail for the output, or an error. An error of type warning does not fail the check.
	run func(context.Context, *Cluster) (string, error)
}

// Code names a check. Codes are stable across versions.
type Code string

// Stage is the time at which a check applies.
type Stage string

// The stages: Before runs with --pre, After without, Always in both.
const (
	Before Stage = "before installation"
	After  Stage = "after installation"
	Always Stage = "always"
)

// Status is the outcome of a check.
type Status string

// The outcomes. A warning does not fail the run. The outcome of a forbidden check is unknown: the user may not read
// what it needs.
const (
	Passed    Status = "passed"
	Warned    Status = "warning"
	Failed    Status = "failed"
	Forbidden Status = "forbidden"
	Skipped   Status = "skipped"
)

// Result is the outcome of one check.
type Result struct {
	Code   Code   `json:"code"`
	Title  string `json:"title"`
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Meaning, Remedy and Page are set if the check failed or warned.
	Meaning string `json:"meaning,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	Page    string `json:"page,omitempty"`
}

// warning is an error that does not fail the check.
type warning struct{ text string }

func (w warning) Error() string { return w.text }

func warn(format string, args ...any) error { return warning{fmt.Sprintf(format, args...)} }

// Run runs the checks of a stage in order. It calls begin before each check, and done with its result.
func Run(ctx context.Context, c *Cluster, stage Stage, begin func(title string), done func(Result)) []Result {
	var out []Result
	failed := map[Code]bool{}
	for _, check := range Checks(c.Dialects) {
		if check.Stage != stage && check.Stage != Always {
			continue
		}
		begin(check.Title)
		r := Result{Code: check.Code, Title: check.Title}
		if failed[check.Needs] {
			r.Status, r.Detail = Skipped, "depends on "+string(check.Needs)
			failed[check.Code] = true
		} else {
			r.run(ctx, c, check)
			failed[check.Code] = r.Status == Failed || r.Status == Forbidden
		}
		out = append(out, r)
		done(r)
	}
	return out
}

func (r *Result) run(ctx context.Context, c *Cluster, check Check) {
	detail, err := check.run(ctx, c)
	r.Status, r.Detail = Passed, detail
	if err == nil {
		return
	}
	r.Status, r.Detail = Failed, err.Error()
	var w warning
	if errors.As(err, &w) {
		r.Status = Warned
	}
	r.Meaning, r.Remedy, r.Page = check.Meaning, check.Remedy, build.DocsURL+"check#"+anchor(check.Code)
	// A webhook that denies an object answers Forbidden, too.
	if apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "admission webhook") {
		r.Status = Forbidden
		r.Meaning = "The result is unknown: the user does not have the permission that the message names."
		r.Remedy = "Grant the permission, or let a cluster administrator run anymesh check."
	}
}

// Count counts the results with a status.
func Count(all []Result, s Status) int {
	n := 0
	for _, r := range all {
		if r.Status == s {
			n++
		}
	}
	return n
}
