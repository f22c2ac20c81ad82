package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/cli"
)

// TestMain runs the tests, or the pods and proxies that "anymesh compare --run" starts with the program of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "compare" || os.Args[1] == "proxy") {
		os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// The requests of a configuration end in real sidecars as it decides, and a sidecar that does not start is named.
func TestCompareRunsSidecars(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("creating namespaces requires root")
	}
	programs, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	report := comparison(t, "-f", compareFolder+"colors-smi", "--driver", "envoy", "--driver", "native", "--run")
	if !report.Equal() || len(report.Observed) != 10 {
		t.Errorf("got %+v", report)
	}
	for _, o := range report.Observed {
		if o.Requests < 20 {
			t.Errorf("%s of %s got %d requests", o.Driver, o.Party, o.Requests)
		}
	}

	broken := t.TempDir()
	if err := os.Chmod(filepath.Dir(broken), 0o755); err != nil { // sidecars run as another user
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "envoy"), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", broken+":"+os.Getenv("PATH"))
	report = comparison(t, "-f", "../../examples/colors", "--driver", "envoy", "--driver", "native", "--run")
	for _, o := range report.Observed {
		if ends := strings.Contains(o.Failed, "exit status 3"); ends != (o.Driver == "envoy") {
			t.Errorf("%s of %s: %+v", o.Driver, o.Party, o)
		}
	}
	if report.Equal() {
		t.Error("equal, although Envoy does not start")
	}
}

// What --run needs is said.
func TestCompareRunNeeds(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for want, args := range map[string][]string{
		"two drivers":                {"--with", compareFolder + "colors-smi"},
		`"envoy": executable file`:   {"--driver", "envoy", "--driver", "native"},
		`"cluster": unknown sidecar`: {"--driver", "cluster", "--driver", "native"},
	} {
		var out, errors bytes.Buffer
		code := cli.Run(t.Context(), append([]string{"compare", "--run", "-f", "../../examples/colors"}, args...), nil, &out, &errors)
		if code != 2 || !strings.Contains(errors.String(), want) {
			t.Errorf("%v: exit code %d: %s", args, code, errors.String())
		}
	}
}
