package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	xdscredentials "google.golang.org/grpc/credentials/xds"
	grpcresolver "google.golang.org/grpc/resolver"
	"google.golang.org/grpc/xds"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// library is a gRPC library in a pod without a proxy.
type library struct {
	bootstrap []byte
	targets   grpcresolver.Builder
	// open are the connections of clients, by target and authority.
	open map[string]*grpc.ClientConn
}

// newLibrary returns the gRPC library with the configuration that the driver injects, and the socket of the relay.
func (p process) newLibrary(spec *sidecar.Spec) (*library, error) {
	for _, e := range spec.ApplicationEnv {
		socket := filepath.Join(sidecar.CertificatesDir, "xds.sock")
		text := []byte(strings.ReplaceAll(e.Value, socket, filepath.Join(p.dir, "xds.sock")))
		if !json.Valid(text) {
			continue
		}
		targets, err := xds.NewXDSResolverWithConfigForTesting(text)
		if err != nil {
			return nil, fmt.Errorf("bootstrap configuration: %w", err)
		}
		return &library{text, targets, map[string]*grpc.ClientConn{}}, nil
	}
	return nil, errors.New("the driver sets no variable with a bootstrap configuration")
}

// dial returns the connection of the application to a target of the mesh. An application has one for all calls.
func (l *library) dial(host string, port uint16) (*grpc.ClientConn, error) {
	name, _, _ := strings.Cut(host, ":")
	to := "xds:///" + net.JoinHostPort(name, strconv.Itoa(int(port)))
	if conn := l.open[to+" "+host]; conn != nil {
		return conn, nil
	}
	credentials, err := xdscredentials.NewClientCredentials(xdscredentials.ClientOptions{
		FallbackCreds: insecure.NewCredentials(),
	})
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(to, grpc.WithResolvers(l.targets), grpc.WithAuthority(host),
		grpc.WithTransportCredentials(credentials))
	if err == nil {
		l.open[to+" "+host] = conn
	}
	return conn, err
}

// serve starts the server of the application on a port of the loopback address, and returns when it serves.
func (l *library) serve(s *server, port uint16) error {
	credentials, err := xdscredentials.NewServerCredentials(xdscredentials.ServerOptions{
		FallbackCreds: insecure.NewCredentials(),
	})
	if err != nil {
		return err
	}
	serving := make(chan struct{})
	serves := sync.OnceFunc(func() { close(serving) })
	mode := xds.ServingModeCallback(func(_ net.Addr, change xds.ServingModeChangeArgs) {
		if change.Mode == connectivity.ServingModeServing {
			serves()
		}
	})
	g, err := xds.NewGRPCServer(xds.BootstrapContentsForTesting(l.bootstrap), grpc.Creds(credentials),
		grpc.UnknownServiceHandler(s.serveGRPC), mode)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", libraryServer(port).String())
	if err != nil {
		return err
	}
	go func() { _ = g.Serve(listener) }() // until the process ends
	select {
	case <-serving:
		return nil
	case <-time.After(startTimeout):
		return errors.New("it gets no configuration")
	}
}

func libraryServer(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// beyondCalls are features that calls of a gRPC library do not show: libraryLine has no line about them.
var beyondCalls = map[model.Feature]bool{"egress.Deny": true, "egress.names": true, "listener.timeout": true}

// libraryStatus is the status of a call for which a proxy would respond with an HTTP status. A gRPC library fails
// without a route as without an endpoint, and says when it is late.
func libraryStatus(http, ofProxy string) string {
	switch http {
	case "404":
		return "unavailable"
	case "504":
		return "deadline-exceeded"
	}
	return ofProxy
}

// libraryLines are the lines that a gRPC library decides.
func libraryLines(v *model.View, lines []Line) []Line {
	var out []Line
	for _, l := range lines {
		if libraryLine(v, l) {
			l.Library = true
			out = append(out, l)
		}
	}
	return out
}

// libraryLine reports whether the line is a call to a service of the view, or one to the pod that needs no timeout of a
// listener: these are what a gRPC library decides.
func libraryLine(v *model.View, l Line) bool {
	if l.Request.Protocol != model.GRPC || l.HealthCheck {
		return false
	}
	if l.Into {
		return !slices.ContainsFunc(l.Responses, Response.timed)
	}
	name, _, _ := strings.Cut(strings.ToLower(l.Request.Host), ":")
	for _, o := range v.Outbound {
		for _, b := range o.Bindings {
			for _, h := range b.Hosts {
				if o.Port == l.Request.Port && b.Protocol == model.GRPC && strings.EqualFold(h, name) {
					return true
				}
			}
		}
	}
	return false
}

// refusedByLibrary reports whether a server refused a call because of the name of its client. gRPC libraries accept the
// handshake of this client.
func (l Line) refusedByLibrary(seen Observation) bool {
	return l.Library && l.Into && seen.Status == "permission-denied"
}

// serveApplication starts the servers of the application.
func (p *pod) serveApplication() error {
	for _, in := range p.view.Inbound {
		if in.Listener.Protocol != model.GRPC {
			continue
		}
		if err := p.library.serve(&server{name: application, counter: p.counter}, in.Listener.Port); err != nil {
			return fmt.Errorf("server of port %d: %w", in.Listener.Port, err)
		}
	}
	return nil
}
