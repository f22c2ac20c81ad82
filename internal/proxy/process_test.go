package proxy_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/test/freeport"
)

// envProcess has the configuration of the proxy that the process is, instead of running tests.
const envProcess = "ANYMESH_TEST_PROXY"

func TestMain(m *testing.M) {
	if text := os.Getenv(envProcess); text != "" {
		fmt.Fprintln(os.Stderr, runProcess(text))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// runProcess runs a proxy until the process is killed.
func runProcess(text string) error {
	value, err := config.ParseYAML([]byte(text))
	if err != nil {
		return err
	}
	c := new(config.Config)
	if err := config.Decode("", value, c); err != nil {
		return err
	}
	if err := proxy.New(context.Background(), slog.New(slog.NewTextHandler(os.Stderr, nil))).Apply(c); err != nil {
		return err
	}
	select {}
}

// process is a proxy in a process of its own.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *os.File
	at  map[string]string // addresses by the name of the port
}

// startProcess starts a proxy, as start does, and waits until it listens on the last one of its ports.
func startProcess(t *testing.T, text string, ports ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), at: map[string]string{}}
	for _, name := range ports {
		port := strconv.Itoa(freeport.Port(t))
		p.at[name] = "127.0.0.1:" + port
		text = strings.ReplaceAll(text, "$"+name, port)
	}
	p.Env = append(os.Environ(), envProcess+"="+text)
	p.Stderr = t.Output()
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = out.(*os.File)
	_ = p.out.SetReadDeadline(time.Now().Add(patience))
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	if len(ports) > 0 {
		until(t, "the proxy listens", func() bool {
			c, err := net.Dial("tcp", p.at[ports[len(ports)-1]])
			if err == nil {
				c.Close()
			}
			return err == nil
		})
	}
	return p
}

// file returns a file of the process below /proc.
func (p *process) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.Process.Pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// memory returns the resident memory in MB.
func (p *process) memory(t *testing.T) float64 {
	t.Helper()
	pages, err := strconv.ParseFloat(strings.Fields(p.file(t, "statm"))[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * float64(os.Getpagesize()) / 1e6
}

// files returns the number of open files.
func (p *process) files(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
