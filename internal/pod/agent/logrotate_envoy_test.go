package agent

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"anymesh.dev/anymesh/test/freeport"
)

// findEnvoy searches for Envoy in PATH, $ANYMESH_BIN and the bin folder of the repository.
func findEnvoy(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("envoy"); err == nil {
		return path
	}
	for _, dir := range []string{os.Getenv("ANYMESH_BIN"), filepath.Join("..", "..", "..", "bin")} {
		if info, err := os.Stat(filepath.Join(dir, "envoy")); dir != "" && err == nil && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, "envoy")
		}
	}
	t.Skip("no envoy in PATH, $ANYMESH_BIN or bin; run `make envoy`")
	return ""
}

// Envoy opens the link again on the signal, and creates the next file. No entry is lost.
func TestEnvoyReopensAccessLog(t *testing.T) {
	envoy, dir, admin := findEnvoy(t), t.TempDir(), freeport.Address(t)
	host, port, err := net.SplitHostPort(admin)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	l := &accessLog{file: filepath.Join(dir, "link"), target: filepath.Join(dir, "logs", "a.log"), log: slog.Default()}
	if err := l.link(); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	config, err := json.Marshal(object{"admin": object{
		"address": object{"socket_address": object{"address": host, "port_value": number}},
		"access_log": []object{{"name": "log", "typed_config": object{
			"@type":      "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
			"path":       l.file,
			"log_format": object{"text_format_source": object{"inline_string": "%REQ(:PATH)%\n"}},
		}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	child, err := startChild([]string{
		envoy, "--config-yaml", string(config), "--disable-hot-restart", "--log-level", "error",
		"--file-flush-interval-msec", "10",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.signal(syscall.SIGKILL); <-child.done })
	request := func(path string) bool {
		response, err := http.Get("http://" + admin + path)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return true
	}
	logged := func(name, entry string) bool {
		text, _ := os.ReadFile(name)
		return strings.Contains(string(text), entry+"\n")
	}
	eventually(t, "Envoy starts", func() bool { return request("/?first") })
	eventually(t, "the first entry", func() bool { return logged(l.target, "/?first") })
	if err := l.rotate(logLimits{size: 1, renamed: 1}, func() { child.signal(syscall.SIGUSR1) }); err != nil {
		t.Fatal(err)
	}
	request("/?second")
	eventually(t, "the next file", func() bool {
		_, err := os.Stat(l.target)
		return err == nil
	})
	request("/?third")
	eventually(t, "the third entry in the next file", func() bool { return logged(l.target, "/?third") })
	old := numbered(l.target, 1)
	if !logged(old, "/?first") || !logged(old, "/?second") && !logged(l.target, "/?second") {
		t.Error("an entry is lost")
	}
}
