package routes

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/route"
	"anymesh.dev/anymesh/model"
)

// Description is the description of a Route.
type Description struct {
	Object model.ObjectRef `json:"object"`
	// Source is the object from which a Route of an application is planned; nil for a Route of the files or of a cluster.
	Source *model.Origin `json:"source,omitempty"`
	route.Description
	// Conditions are those of the cluster, and empty for files.
	Conditions []core.Condition `json:"conditions,omitempty"`
	// Live is true if the Route is that of a cluster.
	Live bool `json:"live"`
}

// Description describes a Route of the plan. The findings are those of its objects.
func (p *Plan) Description(o *unstructured.Unstructured, findings []model.Finding) Description {
	key := controller.KeyOf(o)
	out := Description{Object: refOf(key), Description: p.Describe(o)}
	out.Waiting = nil // it is the state of a cluster
	for _, f := range findings {
		if conflict, is := p.NotServed(f); is && p.plannedFrom(f.Object, key) && out.Failure == nil {
			out.Failure = &provider.Reason{Reason: "NotServed", Message: conflict.Text}
		}
	}
	if source, planned := p.Sources[key]; planned {
		out.Source = new(model.NewOrigin(refOf(source.Object)).At(source.Path))
	}
	return out
}

// Text writes the description as text.
func (d Description) Text(w io.Writer, s terminal.Style) error {
	var b strings.Builder
	b.WriteString(s.Cyan(d.Object.String()))
	if d.Source != nil {
		b.WriteString(", of " + d.Source.String())
	}
	b.WriteString("\n")
	t := terminal.Table{Indent: "  "}
	t.Row("host", cmp.Or(d.Host, "none"))
	if d.Workload != nil {
		t.Row("workload", d.Workload.Kind+" "+d.Workload.Name)
	}
	t.Row("provider", cmp.Or(d.Provider, "not chosen: the Route has an error"))
	if d.Certificate != nil {
		t.Row("certificate", "Secret "+d.Certificate.Secret+", "+certificateSource(*d.Certificate))
	}
	if len(d.Addresses) > 0 {
		t.Row("addresses", strings.Join(d.Addresses, ", "))
	}
	if err := t.Write(&b, s); err != nil {
		return err
	}
	if len(d.Rules) > 0 {
		b.WriteString("\n" + s.Bold("Rules") + "\n")
	}
	for _, r := range d.Rules {
		d.rule(&b, s, r)
	}
	if len(d.Objects) > 0 {
		b.WriteString("\n" + s.Bold("Objects") + "\n")
	}
	for _, o := range d.Objects {
		fmt.Fprintf(&b, "  %s %s\n", o.Kind, o.Name)
	}
	if len(d.Unsupported) > 0 {
		b.WriteString("\n" + s.Bold("Fields that the provider does not honor") + "\n")
	}
	for _, u := range d.Unsupported {
		fmt.Fprintf(&b, "  %s: %s\n", s.Yellow(u.Field), u.Text)
	}
	d.state(&b, s)
	_, err := io.WriteString(w, b.String())
	return err
}

// rule writes a rule with its backend.
func (d Description) rule(b *strings.Builder, s terminal.Style, r route.DescribedRule) {
	path := ""
	if r.Path != "" {
		path = "path " + r.Path + " → "
	}
	if r.Name != "" {
		fmt.Fprintf(b, "  %s: ", s.Bold(r.Name))
	} else {
		b.WriteString("  ")
	}
	fmt.Fprintf(b, "%sService %s port %d\n", path, s.Cyan(r.Service), r.Port)
	fmt.Fprintf(b, "    Service: %s\n", foundText(r))
	if r.RewriteTarget != "" {
		fmt.Fprintf(b, "    rewrites: the path %s to %s\n", r.Path, r.RewriteTarget)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		fmt.Fprintf(b, "    header to the backend: %s: %s\n", name, r.Headers[name])
	}
	if r.ReadTimeout != "" {
		fmt.Fprintf(b, "    read timeout: %s\n", r.ReadTimeout)
	}
	if r.SendTimeout != "" {
		fmt.Fprintf(b, "    send timeout: %s\n", r.SendTimeout)
	}
	if r.Default != "" {
		fmt.Fprintf(b, "    without a ready endpoint: %s\n", r.Default)
	}
}

// foundText says how the Service of a rule was found.
func foundText(r route.DescribedRule) string {
	switch {
	case r.Found.Step == "":
		return r.Found.Text
	case r.Found.Created:
		return fmt.Sprintf("of the Route, with the ports and labels of %s (step %s of discovery)", r.Found.Text, r.Found.Step)
	}
	return fmt.Sprintf("%s (step %s of discovery)", r.Found.Text, r.Found.Step)
}

// state writes the conditions and what the Route waits for.
func (d Description) state(b *strings.Builder, s terminal.Style) {
	b.WriteString("\n" + s.Bold("State") + "\n")
	for _, c := range d.Conditions {
		status := s.Red(string(c.Status))
		if c.Status == "True" {
			status = s.Green(string(c.Status))
		}
		fmt.Fprintf(b, "  %s %s\n", c.Type, strings.TrimSuffix(strings.TrimSpace(status+" "+c.Reason)+": "+c.Message, ": "))
	}
	waiting := d.Needs
	if d.Live {
		waiting = d.Waiting
	}
	reason := func(title string, r *provider.Reason) { fmt.Fprintf(b, "  %s: %s: %s\n", title, r.Reason, r.Message) }
	switch {
	case d.Failure != nil:
		reason(s.Red("error"), d.Failure)
	case waiting != nil:
		reason(s.Yellow("waits"), waiting)
	case d.Live:
		b.WriteString("  " + s.Green("served") + "\n")
	default:
		b.WriteString("  no errors\n")
	}
}

func certificateSource(c route.DescribedCertificate) string {
	switch c.Source {
	case "User":
		return "which is yours"
	case "CertManager":
		return fmt.Sprintf("by cert-manager with %s %s", c.IssuerType, c.IssuerName)
	}
	return "by the built-in authority"
}
