package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/build"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// serveDebug serves snapshots and profiles on the loopback address only. Access requires the right to port-forward to
// the pod.
func (cp *controlPlane) serveDebug(ctx context.Context) error {
	if err := checkLoopback(cp.DebugAddress); err != nil {
		return err
	}
	mux := http.NewServeMux()
	for path, handler := range cp.debug {
		mux.Handle(path, handler)
	}
	mux.HandleFunc("GET /debug/model", cp.dumpModel)
	mux.HandleFunc("GET /debug/views", cp.dumpView)
	mux.HandleFunc("GET /debug/findings", cp.dumpFindings)
	mux.HandleFunc("GET /debug/clients", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, cp.clients()) })
	mux.HandleFunc("GET /debug/drivers", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, cp.driverInfos())
	})
	mux.HandleFunc("GET "+build.Path, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, build.Read()) })
	mux.Handle("GET /debug/identity", cp.dumpIdentity())
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return cp.serve(ctx, "debug", cp.DebugAddress, cp.connections.limit("debug"), loopbackHostOnly(mux), nil)
}

// checkLoopback rejects addresses that are not on the loopback interface.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("debug address %q: %w", address, err)
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return fmt.Errorf("debug address %q is not on the loopback interface: it has no other authorization; use 127.0.0.1 and kubectl port-forward", address)
	}
	return nil
}

// loopbackHostOnly rejects requests whose Host is not a loopback name, to prevent DNS rebinding.
func loopbackHostOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); host != "localhost" &&
			(err != nil || !ip.IsLoopback()) {
			http.Error(w, "the Host header must be a loopback address or localhost", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (cp *controlPlane) dumpModel(w http.ResponseWriter, _ *http.Request) {
	state := cp.engine.State()
	if state == nil {
		http.Error(w, "the model is not computed yet", http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, state.Index.Model)
}

// dumpView writes the view of the workload in the query, with the endpoints of its destinations.
func (cp *controlPlane) dumpView(w http.ResponseWriter, r *http.Request) {
	key := model.Key{Mesh: r.URL.Query().Get("mesh"), Name: r.URL.Query().Get("workload")}
	view, ok := cp.engine.View(key)
	if !ok {
		http.Error(w, fmt.Sprintf("workload %s not found; set ?mesh= and ?workload=", key), http.StatusNotFound)
		return
	}
	shown := struct {
		View      *model.View                 `json:"view"`
		Endpoints map[string][]model.Endpoint `json:"endpoints,omitempty"`
	}{view, map[string][]model.Endpoint{}}
	for _, d := range view.Destinations {
		if reach, known := cp.engine.ResolvedDestination(d.Key); known && len(reach.Endpoints) > 0 {
			shown.Endpoints[d.Name] = reach.Endpoints
		}
	}
	writeJSON(w, shown)
}

// dumpConfiguration writes the configuration of a workload's sidecars, for drivers without a debug handler of their
// own.
func (cp *controlPlane) dumpConfiguration(d *driver) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := model.Key{Mesh: r.URL.Query().Get("mesh"), Name: r.URL.Query().Get("workload")}
		view, ok := cp.engine.View(key)
		renderer, renders := sidecar.RendererOf(d.Name)
		if !ok || !renders {
			http.Error(w, fmt.Sprintf("workload %s not found; set ?mesh= and ?workload=", key), http.StatusNotFound)
			return
		}
		resources, _ := sidecar.Configuration(sidecar.Protected(d.Name, renderer), view, cp.engine.ResolvedDestination)
		writeJSON(w, append([]sidecar.Resource{}, resources...)) // not null
	}
}

func (cp *controlPlane) dumpFindings(w http.ResponseWriter, _ *http.Request) {
	state := cp.engine.State()
	if state == nil {
		http.Error(w, "the model is not computed yet", http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, model.SortFindings(slices.Concat(state.Findings, cp.runtimeFindings())))
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value) // the client disconnected
}
