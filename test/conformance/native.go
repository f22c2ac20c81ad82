package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"anymesh.dev/anymesh/internal/driver/native"
	client "anymesh.dev/anymesh/internal/proxy/discovery"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Environment variables that make the program run as our proxy: the socket of the agent, and the node ID.
const (
	envProxySocket = "ANYMESH_CONFORMANCE_PROXY"
	envProxyNode   = "ANYMESH_CONFORMANCE_NODE"
)

// declared reports whether a driver declares all that a view needs.
func declared(driver sidecar.Capabilities, view *model.View) bool {
	supports := driver.Supports()
	return !slices.ContainsFunc(view.Needs(), func(n model.Need) bool { return !supports[n.Feature] })
}

// startNative runs our proxy as the user of sidecars, and returns when it is ready.
func (p process) startNative(ctx context.Context, w model.Workload, server *net.TCPAddr, d *discovery) error {
	injector := &sidecar.InjectorContext{
		Context: ctx, OsmNamespace: "anymesh-system", Workload: w, Node: w.NodeID,
		Configurator: &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarImage: native.Name}},
	}
	if err := (native.Driver{}).Patch(injector); err != nil {
		return err
	}
	d.metricsURL = injector.Sidecar.MetricsURL
	if _, err := p.serveRelay(ctx, server); err != nil {
		return err
	}
	if err := os.Chown(p.dir, sidecar.UID, sidecar.UID); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = []string{envProxySocket + "=" + filepath.Join(p.dir, "xds.sock"), envProxyNode + "=" + w.NodeID}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: sidecar.UID, Gid: sidecar.UID}}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := p.ready(ctx, injector.Sidecar.ReadyURL, ended, d); err != nil {
		return fmt.Errorf("proxy: %w", errors.Join(err, errors.New(strings.Join(d.rejected(), "\n"))))
	}
	return nil
}

// insideProxy runs our proxy until the process ends.
func insideProxy(io.Writer) error {
	o := client.Options{Socket: os.Getenv(envProxySocket), Node: os.Getenv(envProxyNode)}
	return client.Run(context.Background(), o, slog.New(slog.NewTextHandler(os.Stderr, nil)))
}
