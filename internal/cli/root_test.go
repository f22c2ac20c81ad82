package cli

import (
	"bytes"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/build"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func runCommand(t *testing.T, arguments ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), arguments, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// Exit codes are 0 for success, 1 for failure and 2 for wrong usage.
func TestExitCodes(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	for _, c := range []struct {
		arguments string
		code      int
		stderr    string
	}{
		{"", 0, ""},
		{"--help", 0, ""},
		{"--version", 0, ""},
		{"instal", 2, `unknown command "instal"`},
		{"--color", 2, "unknown flag: --color"},
		{"install --color", 2, "unknown flag: --color"},
		{"install everything", 2, "everything"},
		{"uninstall everything", 2, "everything"},
		{"controller now", 2, "now"},
		{"install --timeout soon", 2, "--timeout"},
		{"install --values /nowhere/values.yaml", 2, "--values"},
		{"install --dry-run --set a[x]=1", 2, "--set"},
		{"install --dry-run --set replicas=none", 1, "replicas"},
		{"install --kubeconfig /nowhere/config", 1, "--kubeconfig"},
		{"uninstall --kubeconfig /nowhere/config", 1, "--kubeconfig"},
		{"controller --log-level loud", 2, "debug, info, warn or error"},
		{"controller --status-writes-per-second 0", 2, "must be between 1 and 200"},
		{"controller --status-writes-per-second 201", 2, "must be between 1 and 200"},
		{"controller --mesh-config /nowhere/mesh.json", 1, "/nowhere/mesh.json"},
	} {
		t.Run(c.arguments, func(t *testing.T) {
			code, _, stderr := runCommand(t, strings.Fields(c.arguments)...)
			if code != c.code || !strings.Contains(stderr, c.stderr) {
				t.Errorf("got exit code %d and error %q, want %d and %q", code, stderr, c.code,
					c.stderr)
			}
			if code == 0 && stderr != "" || code != 0 && !strings.HasPrefix(stderr, "anymesh: ") {
				t.Errorf("got exit code %d and error %q", code, stderr)
			}
		})
	}
}

func TestUnknownCommandSuggestsSimilar(t *testing.T) {
	if _, _, stderr := runCommand(t, "instal"); !strings.Contains(stderr, "install") ||
		!strings.Contains(stderr, "anymesh --help") {
		t.Errorf("anymesh instal: %s", stderr)
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	_, overview, _ := runCommand(t, "--help")
	for _, c := range Root().Commands() {
		if c.Short == "" || c.GroupID == "" {
			t.Errorf("%s: no short description or no group", c.Name())
		}
		if !strings.Contains(overview, c.Name()) {
			t.Errorf("%s is missing in the output of --help", c.Name())
		}
		if c.DisableFlagParsing {
			continue // anymesh does not print its help
		}
		code, help, stderr := runCommand(t, c.Name(), "--help")
		if code != 0 || stderr != "" || !strings.Contains(help, "anymesh "+c.Name()) {
			t.Errorf("anymesh %s --help: got exit code %d, error %q, output\n%s", c.Name(), code, stderr, help)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("anymesh %s --%s: no description", c.Name(), f.Name)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	if _, out, _ := runCommand(t, "--version"); !strings.Contains(out, build.Version) {
		t.Errorf("anymesh --version prints %q", out)
	}
}

// TestContextEverywhere checks that commands which use a cluster can select it in both ways, as with kubectl, and a
// namespace. Member clusters have none.
func TestContextEverywhere(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.GroupID == "cluster" || !c.Runnable() || c.Flags().Lookup("kubeconfig") == nil && c.InheritedFlags().Lookup("kubeconfig") == nil {
			return
		}
		if c.Flags().Lookup("context") == nil && c.InheritedFlags().Lookup("context") == nil {
			t.Errorf("%s has --kubeconfig without --context", c.CommandPath())
		}
		if c.Flags().Lookup("namespace") == nil && c.Parent().Name() != "cluster" {
			t.Errorf("%s has --kubeconfig without --namespace", c.CommandPath())
		}
	}
	visit(Root())
}
