package envoy

import (
	"fmt"
	"net/http"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// configDump serves GET ?mesh=M&workload=W with the rendered configuration of the sidecars of a workload.
func (d Driver) configDump(catalog sidecar.Catalog) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := model.Key{Mesh: r.URL.Query().Get("mesh"), Name: r.URL.Query().Get("workload")}
		view, ok := catalog.View(key)
		if !ok {
			http.Error(w, fmt.Sprintf("workload %s not found; set ?mesh= and ?workload=", key), http.StatusNotFound)
			return
		}
		resources, _ := sidecar.Configuration(d, view, func(to model.Key) (model.ResolvedDestination, bool) {
			return catalog.ResolvedDestination(key, to)
		})
		dump, err := d.Dump(resources)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(dump) // the client may have disconnected
	})
}
