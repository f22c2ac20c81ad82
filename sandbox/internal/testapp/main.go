// Command testapp runs in the Pods of the sandbox tests.
//
// In: flags. Out: an HTTP server that reports its environment and runs commands, a gRPC health service, and an HTTPS
// server with an admission webhook and an aggregated API.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	httpAddr := flag.String("http", ":8080", "listen address of the HTTP server")
	grpcAddr := flag.String("grpc", "", "listen address of the gRPC health service")
	tlsAddr := flag.String("https", "", "listen address of the HTTPS server")
	tlsDir := flag.String("tls", "/tls", "folder with tls.crt and tls.key")
	flag.Parse()
	log.SetFlags(0)
	log.Printf("started %s", strings.Join(os.Args[1:], " "))

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		log.Print("stopping")
		if at := os.Getenv("STOP_FILE"); at != "" {
			note(at)
		}
		os.Exit(0)
	}()
	if at := os.Getenv("START_FILE"); at != "" {
		note(at)
	}
	if *grpcAddr != "" {
		go serveGRPC(*grpcAddr)
	}
	if *tlsAddr != "" {
		go func() {
			log.Fatal(http.ListenAndServeTLS(*tlsAddr, *tlsDir+"/tls.crt", *tlsDir+"/tls.key", apiServer()))
		}()
	}
	log.Fatal(http.ListenAndServe(*httpAddr, handler()))
}

// note appends the value of NOTE to a file, for tests of the start and stop order.
func note(file string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		log.Print(err)
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\n", os.Getenv("NOTE"))
}

func serveGRPC(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	log.Fatal(s.Serve(l))
}

func handler() http.Handler {
	var failing atomic.Bool
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	mux := http.NewServeMux()
	text := func(path string, f func(r *http.Request) (string, error)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			out, err := f(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			fmt.Fprint(w, out)
		})
	}
	text("/{$}", func(*http.Request) (string, error) { return os.Hostname() })
	text("/healthz", func(*http.Request) (string, error) {
		if failing.Load() {
			return "", fmt.Errorf("unhealthy")
		}
		return "ok", nil
	})
	text("/self", aboutSelf)
	text("/list", list)
	text("/write", write)
	text("/fail", func(*http.Request) (string, error) { failing.Store(true); return "", nil })
	text("/peer", func(r *http.Request) (string, error) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		return host, err
	})
	text("/get", func(r *http.Request) (string, error) {
		resp, err := client.Get(r.FormValue("url"))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	})
	text("/log", func(r *http.Request) (string, error) { log.Print(r.FormValue("line")); return "", nil })
	text("/exit", func(r *http.Request) (string, error) {
		code, err := strconv.Atoi(r.FormValue("code"))
		if err == nil {
			err = os.WriteFile("/dev/termination-log", []byte(r.FormValue("message")), 0o644)
		}
		time.AfterFunc(50*time.Millisecond, func() { os.Exit(code) })
		return "", err
	})
	text("/lookup", func(r *http.Request) (string, error) {
		got, err := net.DefaultResolver.LookupHost(r.Context(), r.FormValue("name"))
		return strings.Join(got, " "), err
	})
	text("/srv", func(r *http.Request) (string, error) {
		_, got, err := net.DefaultResolver.LookupSRV(r.Context(), r.FormValue("service"), "tcp", r.FormValue("name"))
		var out []string
		for _, s := range got {
			out = append(out, fmt.Sprintf("%s:%d", s.Target, s.Port))
		}
		return strings.Join(out, " "), err
	})
	return mux
}
