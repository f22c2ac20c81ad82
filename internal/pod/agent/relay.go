package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"anymesh.dev/anymesh/internal/pod/relay"
)

// startRelay starts the relay between the proxy and the control plane, if the pod has one. started must be called when
// the proxy is ready. certificates are those of relay.Relay.
func (a *agent) startRelay(ctx context.Context, run func(func()),
	certificates func() map[string]string) (started func(), err error) {
	if (a.RelaySocket == "") != (a.RelayAddress == "") {
		return nil, errors.New("agent: --relay-socket and --relay-address require each other")
	}
	if a.LogLevelSocket != "" && a.RelaySocket == "" {
		return nil, errors.New("agent: --log-level-socket requires --relay-socket")
	}
	if a.RelaySocket == "" {
		return func() {}, nil
	}
	mode := fs.FileMode(0o600)
	if a.readers() == allUsers {
		mode = 0o666 // connecting to a socket is writing
	}
	l, err := relay.Listen(ctx, a.RelaySocket, mode)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	pod, _ := os.Hostname() // for messages only
	r := relay.New(func() (*grpc.ClientConn, error) { return a.dialControlPlane(a.RelayAddress) }, pod, a.Logger)
	r.Certificates = certificates
	if a.LogLevelSocket != "" {
		wanted := newLevels()
		r.LogLevel = wanted.set
		run(func() { a.setLogLevels(ctx, wanted) })
	}
	run(func() {
		if err := r.Serve(ctx, l); err != nil {
			a.Logger.Error("the proxy gets no configuration", "error", err)
		}
	})
	return r.Started, nil
}

// dialControlPlane returns a new connection to a server of the control plane, with the current certificate.
func (a *agent) dialControlPlane(address string) (*grpc.ClientConn, error) {
	roots, err := a.roots()
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(a.CertDir, "tls.crt"), filepath.Join(a.CertDir, "tls.key"))
	if err != nil {
		return nil, err
	}
	return grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots.Pool(), Certificates: []tls.Certificate{pair},
	})), grpc.WithKeepaliveParams(namesKeepalive), grpc.WithDisableServiceConfig(), grpc.WithNoProxy())
}
