package delivery_test

import (
	"log/slog"
	"testing"

	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/model"
)

// Findings of a driver are those of the last report about each subject, and are told once.
func TestReport(t *testing.T) {
	changes := 0
	d := delivery.New(slog.New(slog.DiscardHandler), delivery.Class{Name: "x"}, func() { changes++ })
	finding := func(name string) []model.Finding {
		at := model.NewOrigin(model.ObjectRef{Kind: "VirtualService", Namespace: "a", Name: name})
		return []model.Finding{model.NewFinding(at, model.CodeRejected, "refused")}
	}
	for i, step := range []struct {
		subject       string
		findings      []model.Finding
		all, notified int
	}{
		{"a/one", finding("v"), 1, 1},
		{"a/one", finding("v"), 1, 1},
		{"a/two", finding("x"), 2, 2},
		{"a/one", finding("w"), 2, 3},
		{"a/one", nil, 1, 4},
		{"a/two", nil, 0, 5},
		{"a/two", nil, 0, 5},
	} {
		d.Report(step.subject, step.findings)
		if got := len(d.Findings()); got != step.all || changes != step.notified {
			t.Errorf("step %d: got %d findings and %d changes, want %d and %d", i, got, changes, step.all, step.notified)
		}
	}
}
