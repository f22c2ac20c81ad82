package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"anymesh.dev/anymesh/internal/driver/native"
	client "anymesh.dev/anymesh/internal/proxy/discovery"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// declared reports whether the driver native declares all that a view needs.
func declared(view *model.View) bool {
	return view.Gateway && len(model.Unsupported(native.Name, view.Needs(), native.Driver{}.Supports())) == 0
}

// startNative runs our proxy in this process, and returns when it is ready.
func (p process) startNative(ctx context.Context, node string, server *net.TCPAddr, d *discovery) error {
	injector := &sidecar.InjectorContext{
		Context: ctx, OsmNamespace: "anymesh-system", Workload: model.Workload{Role: model.RoleGateway}, Node: node,
		Configurator: &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarImage: native.Name}},
	}
	if err := (native.Driver{}).Patch(injector); err != nil {
		return err
	}
	d.metricsURL = injector.Sidecar.MetricsURL
	if _, err := p.serveRelay(ctx, server); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- client.Run(ctx, filepath.Join(p.dir, "xds.sock"), node, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	}()
	if err := p.ready(ctx, injector.Sidecar.ReadyURL, ended, d); err != nil {
		return fmt.Errorf("proxy: %w", errors.Join(err, errors.New(strings.Join(d.rejected(), "\n"))))
	}
	return nil
}
