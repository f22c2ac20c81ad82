package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFilesAreThoseOfTheEnvironment checks that the proxy gets the files of the environment, whatever is in the folder
// when the agent starts again.
func TestFilesAreThoseOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	environ := []string{"PATH=/bin", "ANYMESH_FILE_proxy.json={\"a\": \"b=c\"}", "ANYMESH_FILE_root.pem=root\n"}
	for range 2 {
		if err := writeVariables(dir, environ); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"proxy.json": `{"a": "b=c"}`, "root.pem": "root\n"} {
			file := filepath.Join(dir, name)
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("%s: got %q, %v", name, got, err)
			}
			if err := os.WriteFile(file, []byte("changed"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writeVariables("", environ); err != nil {
		t.Errorf("pod of an older version: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "proxy.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "proxy.json"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	const refused = "proxy.json exists and was not created by the agent"
	if err := writeVariables(dir, environ); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("a file in place of the link: got error %v", err)
	}
}

func TestVariablesWithoutFileName(t *testing.T) {
	for _, name := range []string{"", "..", ".config.json", "../etc/x", "a/b"} {
		dir := t.TempDir()
		err := writeVariables(dir, []string{"ANYMESH_FILE_" + name + "=x"})
		if err == nil || !strings.Contains(err.Error(), "is not a file name") {
			t.Errorf("%q: got error %v", name, err)
		}
	}
}

// TestConfigFilesAreKept checks that a proxy that was ready starts with the same configuration again, and that a file
// can be corrected before.
func TestConfigFilesAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	var log strings.Builder
	a := &agent{Config: Config{
		Command: []string{"proxy", "--last"}, ConfigArgument: "--c", ConfigFiles: []string{file}, FilesDir: t.TempDir(),
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}}
	start := func(content, want string) string {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		command, config, err := a.proxyCommand()
		if err != nil || !slices.Equal(command, []string{"proxy", "--last", "--c", want}) {
			t.Errorf("got command %q, %v; want %s", command, err, want)
		}
		return config
	}
	_ = start("tracing: {}", `{"tracing":{}}`)
	config := start("stats_config: {}", `{"stats_config":{}}`) // corrected before the proxy was ready
	a.keepConfig(config)
	a.keepConfig(start("stats_config: {}", `{"stats_config":{}}`))
	if log.Len() > 0 {
		t.Errorf("unexpected log: %s", log.String())
	}
	for _, changed := range []string{"admin: {}", "[]"} {
		a.keepConfig(start(changed, `{"stats_config":{}}`))
		if !strings.Contains(log.String(), "it keeps their first content") {
			t.Errorf("%s: the log does not tell: %s", changed, log.String())
		}
		log.Reset()
	}
	a.FilesDir = "" // a pod of an older version
	_ = start("admin: {}", `{"admin":{}}`)
}
