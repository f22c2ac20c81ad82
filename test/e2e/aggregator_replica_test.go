package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// replica is a process of the aggregator.
type replica struct {
	args []string
	// address is that of the API; with port 0, --write-kubeconfig tells the port.
	address string
	process *exec.Cmd
	log     syncBuffer
}

// newReplica returns a replica whose control plane is the first of the clusters.
func newReplica(c *clusters, address string, args ...string) *replica {
	return &replica{address: address, args: append([]string{
		"aggregator", "--kubeconfig", c.files[memberNames[0]], "--address", address, "--metrics-address", "",
		"--probe-interval", "1s",
	}, args...)}
}

func (r *replica) start() error {
	r.process = exec.Command(filepath.Join(lab.bin, "anymesh"), r.args...)
	r.process.Stderr = &r.log
	return r.process.Start()
}

// kill ends the process as a crash does.
func (r *replica) kill() {
	_ = r.process.Process.Kill()
	_ = r.process.Wait() // the error is that it was killed
}

// startFor starts the process until the test ends.
func (r *replica) startFor(t *testing.T) {
	t.Helper()
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.process.Process.Signal(os.Interrupt)
		err := r.process.Wait()
		text := r.log.String()
		if err != nil || strings.Contains(text, "panic: ") || strings.Contains(text, "DATA RACE") {
			t.Errorf("aggregator: %v\n%s", err, text)
		} else if t.Failed() {
			t.Logf("aggregator:\n%s", text)
		}
	})
}

// syncBuffer is a buffer of which a test reads while a process writes.
type syncBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}
