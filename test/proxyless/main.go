// Command proxyless is a gRPC application for tests. Its library is its proxy: it gets configuration over xDS.
//
// It answers every unary method with --version, and calls others for requests of tests:
//
//	GET /call?target=xds:///NAME:PORT&method=/SERVICE/METHOD&times=N&header=NAME:VALUE
//
// The response is a JSON object with the number of calls by their answer, or by the code of their status.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	xdscredentials "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	listen := flag.String("listen", "0.0.0.0:50051", "address of the gRPC server")
	calls := flag.String("http", ":8080", "address for requests of tests")
	version := flag.String("version", "", "answer of the gRPC server")
	plain := flag.Bool("plain", false, "use no xDS: a sidecar does it")
	flag.Parse()
	if err := run(*listen, *calls, *version, *plain); err != nil {
		log.Fatal(err)
	}
}

func run(listen, calls, version string, plain bool) error {
	server, err := newServer(version, plain)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(l) }()
	c := &caller{plain: plain, open: map[string]*grpc.ClientConn{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /call", c.serve)
	go func() { failed <- http.ListenAndServe(calls, mux) }()
	return <-failed
}

// server is a gRPC server, with or without xDS.
type server interface{ Serve(net.Listener) error }

func newServer(version string, plain bool) (server, error) {
	answer := grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return stream.SendMsg(wrapperspb.String(version))
	})
	if plain {
		return grpc.NewServer(answer), nil
	}
	credentials, err := xdscredentials.NewServerCredentials(xdscredentials.ServerOptions{
		FallbackCreds: insecure.NewCredentials(),
	})
	if err != nil {
		return nil, err
	}
	return xds.NewGRPCServer(answer, grpc.Creds(credentials))
}

// caller has a connection for each target.
type caller struct {
	plain bool
	mutex sync.Mutex
	open  map[string]*grpc.ClientConn
}

func (c *caller) connection(target string) (*grpc.ClientConn, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if conn := c.open[target]; conn != nil {
		return conn, nil
	}
	credentials := insecure.NewCredentials()
	if !c.plain {
		var err error
		credentials, err = xdscredentials.NewClientCredentials(xdscredentials.ClientOptions{FallbackCreds: credentials})
		if err != nil {
			return nil, err
		}
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(credentials))
	if err == nil {
		c.open[target] = conn
	}
	return conn, err
}

func (c *caller) serve(w http.ResponseWriter, r *http.Request) {
	counts, err := c.call(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(counts) // the client has gone
}

func (c *caller) call(r *http.Request) (map[string]int, error) {
	q := r.URL.Query()
	conn, err := c.connection(q.Get("target"))
	if err != nil {
		return nil, err
	}
	times := 1
	if text := q.Get("times"); text != "" {
		if times, err = strconv.Atoi(text); err != nil {
			return nil, err
		}
	}
	ctx := r.Context()
	for _, header := range q["header"] {
		name, value, found := strings.Cut(header, ":")
		if !found {
			return nil, errors.New("a header is NAME:VALUE")
		}
		ctx = metadata.AppendToOutgoingContext(ctx, name, value)
	}
	counts := map[string]int{}
	for range times {
		counts[once(ctx, conn, q.Get("method"))]++
	}
	return counts, nil
}

// once makes a call, and returns its answer or the code and the message of its status.
func once(ctx context.Context, conn *grpc.ClientConn, method string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var answer wrapperspb.StringValue
	if err := conn.Invoke(ctx, method, &emptypb.Empty{}, &answer); err != nil {
		return fmt.Sprintf("%s: %s", status.Code(err), status.Convert(err).Message())
	}
	return answer.Value
}
