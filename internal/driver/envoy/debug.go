package envoy

import (
	"encoding/json"
	"fmt"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// configDump answers GET ?mesh=M&workload=W with the configuration that the workload's sidecars are to have.
func configDump(catalog sidecar.Catalog) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := model.Key{Mesh: r.URL.Query().Get("mesh"), Name: r.URL.Query().Get("workload")}
		view, ok := catalog.View(key)
		if !ok {
			http.Error(w, fmt.Sprintf("there is no workload %s; give ?mesh= and ?workload=", key), http.StatusNotFound)
			return
		}
		resources, _ := sidecar.Configuration(Driver{}, view, catalog.Reach)
		dump := map[string]json.RawMessage{}
		for _, res := range resources {
			message, err := Decode(res)
			if err == nil {
				dump[res.Name], err = protojson.Marshal(message)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(dump)
	})
}
