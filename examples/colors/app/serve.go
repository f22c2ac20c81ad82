package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// reply is the response of a service.
type reply struct {
	Version string      `json:"version"`
	Pod     string      `json:"pod"`
	Method  string      `json:"method"`
	Host    string      `json:"host"`
	Path    string      `json:"path"`
	Header  http.Header `json:"header"`
	// Count is the number of requests for the path in this process.
	Count int64 `json:"count"`
}

// serve responds to every path over HTTP/1.1 and HTTP/2. /status/CODE responds with a status, /delay/DURATION
// responds after a delay; both may have further elements. /override/CODE/PATH sets the status of further responses
// to /PATH. The response to /count/PATH has the count of /PATH.
func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	listen := flags.String("listen", ":8080", "address")
	version := flags.String("version", "unnamed", "name of the version")
	secured := flags.Bool("tls", false, "serve TLS, with a certificate that signs itself")
	_ = flags.Parse(args)
	pod, _ := os.Hostname()
	var seen counter
	var overrides sync.Map // status by path
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted, asked := strings.CutPrefix(r.URL.Path, "/count")
		count := seen.of(counted)
		if !asked {
			count = seen.add(r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		if wait, ok := strings.CutPrefix(r.URL.Path, "/delay/"); ok {
			wait, _, _ = strings.Cut(wait, "/")
			if d, err := time.ParseDuration(wait); err == nil {
				select {
				case <-time.After(d):
				case <-r.Context().Done():
				}
			}
		}
		if rest, ok := strings.CutPrefix(r.URL.Path, "/override/"); ok {
			code, path, _ := strings.Cut(rest, "/")
			overrides.Store("/"+path, code)
		}
		code, ok := strings.CutPrefix(r.URL.Path, "/status/")
		code, _, _ = strings.Cut(code, "/")
		if override, set := overrides.Load(r.URL.Path); set {
			code, ok = override.(string), true
		}
		if ok {
			if n, err := strconv.Atoi(code); err == nil && n >= 200 && n < 600 {
				w.WriteHeader(n)
			}
		}
		_ = json.NewEncoder(w).Encode(reply{*version, pod, r.Method, r.Host, r.URL.RequestURI(), r.Header, count})
	})
	if *secured {
		return listenAndServeTLS(ctx, *listen, handler)
	}
	return listenAndServe(ctx, *listen, handler)
}

func listenAndServe(ctx context.Context, address string, handler http.Handler) error {
	return ignoreClosed(newServer(ctx, address, handler).ListenAndServe())
}

func listenAndServeTLS(ctx context.Context, address string, handler http.Handler) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	server := newServer(ctx, address, handler)
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	return ignoreClosed(server.ListenAndServeTLS("", ""))
}

// newServer returns a server that shuts down when the context ends.
func newServer(ctx context.Context, address string, handler http.Handler) *http.Server {
	server := &http.Server{
		Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second, Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(grace)
	})
	return server
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// echo sends a greeting, then echoes each line.
func echo(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("echo", flag.ExitOnError)
	listen := flags.String("listen", ":9000", "address")
	version := flags.String("version", "unnamed", "name of the version")
	_ = flags.Parse(args)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go func() {
			defer func() { _ = conn.Close() }()
			_, _ = fmt.Fprintf(conn, "%s\n", *version)
			lines := bufio.NewScanner(conn)
			for lines.Scan() {
				if _, err := fmt.Fprintf(conn, "%s\n", lines.Text()); err != nil {
					return
				}
			}
		}()
	}
}

// counter counts requests by path, for a limited number of paths.
type counter struct {
	mu    sync.Mutex
	paths map[string]int64
}

const maxPaths = 1000

func (c *counter) add(path string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paths == nil || len(c.paths) > maxPaths {
		c.paths = map[string]int64{}
	}
	c.paths[path]++
	return c.paths[path]
}

func (c *counter) of(path string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paths[path]
}
