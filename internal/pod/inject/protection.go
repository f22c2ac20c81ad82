package inject

import (
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// unprotected returns warnings about listeners of a workload that the driver of a pod cannot protect as asked for.
func unprotected(class string, w model.Workload) []string {
	renderer, renders := sidecar.RendererOf(class)
	if !renders {
		return nil
	}
	view := model.View{Workload: w}
	for _, l := range w.Listeners {
		view.Inbound = append(view.Inbound, model.Inbound{Listener: l})
	}
	_, findings := view.Protect(class, renderer.Supports())
	var out []string
	for _, f := range findings {
		if f.Severity == model.Error {
			out = append(out, f.Object.String()+" "+f.Path+": "+f.Text)
		}
	}
	return out
}
