// Package tinypoll is a minimal sidecar driver that delivers configuration itself: its sidecars poll an HTTPS server.
// It uses only what the README of package sidecar documents.
//
// In: the catalog of the control plane, and notice of its changes. Out: for each sidecar with a client certificate, the
// view of its workload with the destinations, as JSON.
package tinypoll

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"example.com/tiny/proxy"
)

// Name is the sidecarClass of the driver and the command that runs its sidecar.
const Name = "tinypoll"

func init() { sidecar.Register(Name, Driver{}) }

// Driver is the sidecar driver. It is no sidecar.Renderer: the control plane delivers nothing.
type Driver struct{}

// Patch adds the sidecar container.
func (Driver) Patch(ctx context.Context) error { return proxy.Patch(ctx, Name, "") }

// Supports lists the supported features: the control plane reports the others, and the views of the catalog do not have
// what they protect.
func (Driver) Supports() map[model.Feature]bool { return proxy.Supports() }

// Start starts the server of the sidecars.
func (Driver) Start(ctx context.Context) (sidecar.Probes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return nil, errors.New("missing Controller Context")
	}
	listener, err := controller.CertManager.Listen(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{
		catalog: controller.MeshCatalog, authorize: controller.CertManager.Authorize, polls: map[*poll]struct{}{},
	}
	controller.DebugHandlers["/debug/"+Name] = http.HandlerFunc(s.dump)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /configuration", s.configuration)
	web := &http.Server{
		Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: maxWait + 10*time.Second, MaxHeaderBytes: 8 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // handshakes that fail, among them those of probes
	}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	go s.wakePolls(ctx, controller.MsgBroker.Subscribe())
	go func() { _ = web.Serve(listener) }()
	return sidecar.HealthProbes{Liveness: &sidecar.HealthProbe{
		TCPSocket: true, Port: int32(controller.ProxyServerPort),
	}}, nil
}

// dump serves the debug server and "anymesh proxy config".
func (s *server) dump(w http.ResponseWriter, r *http.Request) {
	key := model.Key{Mesh: r.URL.Query().Get("mesh"), Name: r.URL.Query().Get("workload")}
	c, ok := s.configurationOf(key)
	if !ok {
		http.Error(w, fmt.Sprintf("workload %s not found", key), http.StatusNotFound)
		return
	}
	c.write(w)
}
