package alerts

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"anymesh.dev/anymesh/charts/dashboard"
)

// TestExpressions checks that Prometheus can parse each expression, and that each alert is an instant vector.
func TestExpressions(t *testing.T) {
	p := parser.NewParser(parser.Options{})
	for _, a := range All() {
		expr, err := p.ParseExpr(a.Expr)
		if err != nil {
			t.Errorf("%s: %v", a.Name, err)
		} else if expr.Type() != parser.ValueTypeVector {
			t.Errorf("%s: the expression is a %s", a.Name, expr.Type())
		}
		if _, err := time.ParseDuration(a.For); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
		for _, text := range []string{a.Summary, a.Meaning, a.Action} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q is not a sentence", a.Name, text)
			}
		}
	}
	for _, q := range append(dashboard.ControlPlane.Queries(), dashboard.Mesh.Queries()...) {
		if _, err := p.ParseExpr(q.Expr); err != nil {
			t.Errorf("dashboard: %s: %v", q.Expr, err)
		}
	}
}

// TestRunbooks checks that the page has a section for each alert.
func TestRunbooks(t *testing.T) {
	page, err := os.ReadFile("../../docs/" + Page)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range All() {
		if strings.Count(string(page), "\n## "+a.Name+"\n") != 1 {
			t.Errorf("docs/%s has no section %s, or several", Page, a.Name)
		}
	}
}
