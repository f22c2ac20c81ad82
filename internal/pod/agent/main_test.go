package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"anymesh.dev/anymesh/test/poll"
)

// The test binary also runs as agent and as proxy, in real processes.
func TestMain(m *testing.M) {
	switch os.Getenv("AGENT_TEST_ROLE") {
	case "agent":
		os.Setenv("AGENT_TEST_ROLE", "proxy") // role of the child
		if run, err := time.ParseDuration(os.Getenv("AGENT_TEST_MIN_RUN")); err == nil {
			minRun = run
		}
		cmd := Command()
		cmd.SetArgs(os.Args[1:])
		err := cmd.ExecuteContext(context.Background())
		var exit *ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.Code)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "proxy":
		runProxy(os.Args[1:])
	}
	os.Exit(m.Run())
}

// runProxy simulates Envoy: it requires the certificate files at start, has an admin port, and prints events.
// Arguments: admin address, certificate folder, exit code after SIGTERM.
func runProxy(args []string) {
	if len(args) != 3 {
		os.Exit(99)
	}
	for _, f := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if _, err := os.ReadFile(args[1] + "/" + f); err != nil {
			fmt.Println("no certificate:", err)
			os.Exit(98)
		}
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		fmt.Println(err)
		os.Exit(97)
	}
	var ready atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, r *http.Request) {
		if !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("POST /drain", func(w http.ResponseWriter, r *http.Request) { fmt.Println("drain") })
	mux.HandleFunc("/metrics", func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprintln(w, "proxy_requests_total 7")
	})
	go http.Serve(l, mux)
	fmt.Println("started", os.Getpid())
	for s := range signals {
		fmt.Println(s)
		switch s {
		case syscall.SIGUSR1:
			ready.Store(true)
		case syscall.SIGTERM:
			code, _ := strconv.Atoi(args[2])
			os.Exit(code)
		}
	}
}

var eventually = poll.Until
