package grpcserver

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	pushMethod = "/test.Test/Push"
	pushes     = 100_000
	// pushesPerMessage is the number of pushes that one message of the client asks for. With few, a client that
	// measures the bandwidth responds to almost every push with a PING or with WINDOW_UPDATEs.
	pushesPerMessage = 10
)

// push sends messages when the client asks for them.
func push(s *Stream) StreamHandler {
	sent, message := 0, make([]byte, 200)
	return handlerFuncs{onMessage: func([]byte) {
		for range pushesPerMessage {
			_ = s.Send(message) // OnEnd follows an error
		}
		if sent += pushesPerMessage; sent == pushes {
			s.Finish(nil)
		}
	}, onEnd: s.Finish}
}

// Clients with default options receive many small pushes. Some measure the bandwidth all the time, by frames that a
// flood consists of, too.
func TestClientsReceivePushes(t *testing.T) {
	r := startServer(t, listenLoopback(t), Options{
		Methods:              map[string]func(*Stream) StreamHandler{pushMethod: push},
		MaxConcurrentStreams: 8, MaxFramesPerSecond: 20, MaxFrameBurst: 200,
	})
	bin := os.Getenv("ANYMESH_BIN")
	if bin == "" {
		bin, _ = filepath.Abs("../../../bin")
	}
	installed := filepath.Join(bin, "grpc-clients")
	t.Run("clients", func(t *testing.T) {
		t.Run("grpc-go", func(t *testing.T) {
			t.Parallel()
			receivePushes(t, r)
		})
		t.Run("grpcio", func(t *testing.T) {
			t.Parallel()
			runClient(t, installed, []string{"PYTHONPATH=" + filepath.Join(installed, "python")},
				"python3", "testdata/clients/push.py", r.address, pushMethod, strconv.Itoa(pushesPerMessage))
		})
		t.Run("grpc-java", func(t *testing.T) {
			t.Parallel()
			runClient(t, installed, nil, "java", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
				filepath.Join(installed, "java")+":"+filepath.Join(installed, "jars", "*"), "Push", r.address, pushMethod,
				strconv.Itoa(pushesPerMessage))
		})
	})
	if got := r.refusalReasons(); len(got) > 0 {
		t.Errorf("refused: %q", got)
	}
}

func receivePushes(t *testing.T, r *testServer) {
	s := openStream(t, dial(t, r), pushMethod)
	for received := 0; ; received++ {
		if received%pushesPerMessage == 0 {
			_ = s.SendMsg([]byte("more")) // the end of the stream has the error
		}
		if _, err := receive(s); err != nil {
			if !errors.Is(err, io.EOF) || received != pushes {
				t.Errorf("received %d pushes, then %v", received, err)
			}
			return
		}
	}
}

// runClient runs a client program and checks the number of pushes that it prints.
func runClient(t *testing.T, installed string, env []string, name string, arguments ...string) {
	if _, err := os.Stat(installed); err != nil {
		t.Skipf("run hack/grpc-clients.sh bin/grpc-clients, which installs the libraries of this client: %v", err)
	}
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("install %s: %v", name, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, name, arguments...)
	command.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil || strings.TrimSpace(string(out)) != strconv.Itoa(pushes) {
		t.Errorf("%s: received %.100q pushes, error %v: %.2000s", name, out, err, stderr.String())
	}
}
