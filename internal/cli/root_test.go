package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// typed runs a command as a shell does.
func typed(t *testing.T, arguments ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), arguments, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// 0 is success, 1 failure, 2 wrong usage: scripts tell them apart.
func TestExitCodes(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	for _, c := range []struct {
		arguments string
		code      int
		says      string
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
		code, _, said := typed(t, strings.Fields(c.arguments)...)
		if code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("anymesh %s: exit code %d, says %q; want %d and %q", c.arguments, code, said, c.code, c.says)
		}
		if code == 0 && said != "" || code != 0 && !strings.HasPrefix(said, "anymesh: ") {
			t.Errorf("anymesh %s: exit code %d, and on standard error %q", c.arguments, code, said)
		}
	}
}

func TestUnknownCommandSuggestsSimilar(t *testing.T) {
	if _, _, said := typed(t, "instal"); !strings.Contains(said, "install") ||
		!strings.Contains(said, "anymesh --help") {
		t.Errorf("anymesh instal: %s", said)
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	_, overview, _ := typed(t, "--help")
	for _, c := range Root().Commands() {
		if c.Short == "" || c.GroupID == "" {
			t.Errorf("%s: it has no short description, or belongs to no group", c.Name())
		}
		if !strings.Contains(overview, c.Name()) {
			t.Errorf("%s is missing in the overview", c.Name())
		}
		if c.DisableFlagParsing {
			continue // another program's help
		}
		code, help, said := typed(t, c.Name(), "--help")
		if code != 0 || said != "" || !strings.Contains(help, "anymesh "+c.Name()) {
			t.Errorf("anymesh %s --help: exit code %d, says %q, prints\n%s", c.Name(), code, said, help)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("anymesh %s --%s: nobody says what it does", c.Name(), f.Name)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	if _, out, _ := typed(t, "--version"); !strings.Contains(out, Version) {
		t.Errorf("anymesh --version prints %q", out)
	}
}
