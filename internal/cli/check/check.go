// Package check says whether a cluster is ready for Anymesh, and whether Anymesh in it is well.
//
// In: a cluster, with the user's own rights. Out: a result for each of Checks, in order; a failed one has a code, what it means
// and what to do. docs/check.md is generated from the same list.
package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
)

// Cluster is what checks look at.
type Cluster struct {
	Host   string
	Client client.Client
	Kube   kubernetes.Interface
	// Dialects are those of this program.
	Dialects []dialect.Dialect
	// Namespace is that of the control plane.
	Namespace string
	// Sidecars asks the control planes who is connected; State computes the mesh.
	Sidecars func(context.Context) ([]inspect.Sidecar, error)
	State    func(context.Context) (*engine.State, error)
	// Now is the time by which certificates are judged.
	Now time.Time
}

// Check is one thing that is looked at.
type Check struct {
	Code Code
	// Title says what is well if the check passes.
	Title string
	// Meaning says what a failure means; Remedy what to do about it.
	Meaning, Remedy string
	// Stage tells when the check makes sense.
	Stage Stage
	// Needs is the check without which this one makes no sense; empty if there is none.
	Needs Code
	// run gives a remark, or what is wrong: a warning, or else a failure.
	run func(context.Context, *Cluster) (string, error)
}

// Code names a check. It stays what it is from version to version.
type Code string

// Stage is when a check makes sense.
type Stage string

// The stages: before Anymesh is installed, once it is, or both.
const (
	Before Stage = "before installation"
	After  Stage = "after installation"
	Always Stage = "always"
)

// Status is how a check went.
type Status string

// The statuses. A warning is no failure.
const (
	Passed  Status = "passed"
	Warned  Status = "warning"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is how a check went, and why.
type Result struct {
	Code   Code   `json:"code"`
	Title  string `json:"title"`
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Meaning, Remedy and Page are there if it did not pass.
	Meaning string `json:"meaning,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	Page    string `json:"page,omitempty"`
}

// warning is something that one should know, and that hurts nobody yet.
type warning struct{ text string }

func (w warning) Error() string { return w.text }

func warn(format string, args ...any) error { return warning{fmt.Sprintf(format, args...)} }

// Run runs the checks of a stage in order. It tells of each before it begins, and gives its result to done.
func Run(ctx context.Context, c *Cluster, stage Stage, begin func(title string), done func(Result)) []Result {
	var out []Result
	bad := map[Code]bool{}
	for _, check := range Checks(c.Dialects) {
		if check.Stage != stage && check.Stage != Always {
			continue
		}
		begin(check.Title)
		r := Result{Code: check.Code, Title: check.Title}
		if bad[check.Needs] {
			r.Status, r.Detail = Skipped, "it needs "+string(check.Needs)
			bad[check.Code] = true
		} else {
			r.judge(check, ctx, c)
			bad[check.Code] = r.Status == Failed
		}
		out = append(out, r)
		done(r)
	}
	return out
}

func (r *Result) judge(check Check, ctx context.Context, c *Cluster) {
	remark, err := check.run(ctx, c)
	r.Status, r.Detail = Passed, remark
	if err == nil {
		return
	}
	r.Status, r.Detail = Failed, err.Error()
	var w warning
	if errors.As(err, &w) {
		r.Status = Warned
	}
	r.Meaning, r.Remedy, r.Page = check.Meaning, check.Remedy, "docs/check.md#"+anchor(check.Code)
}

// Count counts the checks that ended in a way.
func Count(all []Result, s Status) int {
	n := 0
	for _, r := range all {
		if r.Status == s {
			n++
		}
	}
	return n
}
