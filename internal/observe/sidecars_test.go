package observe

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/driver/grpc"
	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/internal/driver/pipy"
	"anymesh.dev/anymesh/internal/driver/pipy/repo"
	proxy "anymesh.dev/anymesh/internal/proxy/discovery"
	"anymesh.dev/anymesh/model"
)

// oldestEnvoy is the name of the oldest supported version.
const oldestEnvoy = "envoy-1.36"

// parallel is how many sidecars are observed at once, unless -parallel is given. They wait for timeouts most of the
// time, so that two cores suffice.
const parallel = "6"

func TestMain(m *testing.M) {
	if os.Getenv(asNative) != "" {
		runNative()
	}
	if os.Getenv(asPipy) != "" {
		runPipy()
	}
	for variable, run := range map[string]func(Sidecar, io.Writer) error{
		envHandshakes: insideHandshakes, envChanges: insideChanges, envMetrics: insideMetrics,
	} {
		if os.Getenv(variable) != "" {
			runPod(sidecars(), run)
		}
	}
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	RunPod(sidecars()...)
	os.Exit(m.Run())
}

// sidecars are the built-in drivers, with the programs that this machine has.
func sidecars() []Sidecar {
	all := []Sidecar{ofNative(), {Name: grpc.Name, Driver: grpc.Driver{}}, ofPipy()}
	if current, err := findEnvoy("../.."); err == nil {
		if current, err = filepath.Abs(current); err != nil {
			panic(err)
		}
		oldest := filepath.Join(filepath.Dir(current), oldestEnvoy)
		all = append(all, ofEnvoy(envoy.Name, current), ofEnvoy(oldestEnvoy, oldest))
	}
	return all
}

// sidecarOf returns the sidecar of a name. Without its program or the rights to run pods, it skips the test.
func sidecarOf(t *testing.T, name string) Sidecar {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("creating namespaces requires root")
	}
	if _, err := exec.LookPath(pipyProgram()); name == pipy.Name && err != nil {
		t.Skipf("there is no program of pipy; set PIPY: %v", err)
	}
	for _, s := range sidecars() {
		if _, err := os.Stat(s.Program); s.Name == name && (err == nil || s.proxyless()) {
			return s
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("there is no program of %s; fetch it with `make envoy`", name)
	}
	t.Skipf("there is no program of %s; fetch it with `make envoy`", name)
	return Sidecar{}
}

// envoys are the supported versions of Envoy.
func envoys(t *testing.T) []Sidecar {
	t.Helper()
	return []Sidecar{sidecarOf(t, envoy.Name), sidecarOf(t, oldestEnvoy)}
}

// findEnvoy searches for the binary on PATH, in $ANYMESH_BIN and in the folder bin of the repository.
func findEnvoy(repository string) (string, error) {
	if path, err := exec.LookPath("envoy"); err == nil {
		return path, nil
	}
	for _, dir := range []string{os.Getenv("ANYMESH_BIN"), filepath.Join(repository, "bin")} {
		if info, err := os.Stat(filepath.Join(dir, "envoy")); dir != "" && err == nil && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, "envoy"), nil
		}
	}
	return "", errors.New("no Envoy on PATH, in $ANYMESH_BIN or in bin; fetch it with `make envoy`")
}

func ofEnvoy(name, program string) Sidecar {
	return Sidecar{
		Name: name, Driver: envoy.Driver{}, Program: program,
		Arguments: func(all []string) []string {
			if i := slices.Index(all, "--concurrency"); i >= 0 { // each worker may open a connection, whatever the limits are
				all[i+1] = "1"
			}
			return append([]string{"--file-flush-interval-msec", "10"}, all...)
		},
		OpenURL: "http://127.0.0.1:9901/stats?filter=^cluster.cds_(in|e)gress_",
		OpenValue: func(line string, port uint16, streams bool) (value string, counts bool) {
			gauges := []string{"upstream_rq_active", "upstream_rq_pending_active"}
			if streams {
				gauges = []string{"upstream_cx_active"}
			}
			name, value, _ := strings.Cut(line, ": ")
			own := strings.Contains(name, fmt.Sprintf("_%d.", port)) ||
				strings.Contains(name, fmt.Sprintf("_self_redirect_%d_", port))
			return value, own && slices.ContainsFunc(gauges, func(g string) bool { return strings.HasSuffix(name, "."+g) })
		},
		HealthURL: "http://127.0.0.1:9901/stats?filter=_(health_check|readiness)_",
		HealthValue: func(line string, port uint16) (what, value string) {
			name, value, _ := strings.Cut(line, ": ")
			_, name, _ = strings.Cut(name, fmt.Sprintf("_%d.", port))
			return map[string]string{
				"membership_healthy": healthyListeners, "health_check.success": passedChecks, "health_check.failure": failedChecks,
			}[name], value
		},
	}
}

// asNative is the environment variable that makes the tests run as our proxy.
const asNative = "ANYMESH_CONFORMANCE_NATIVE"

// ofNative is our proxy, which has the race detector if the tests have it.
func ofNative() Sidecar {
	return Sidecar{
		Name: native.Name, Driver: native.Driver{}, Program: "/proc/self/exe", Env: []string{asNative + "=1"},
		ClusterName: func(resource string) string { return strings.TrimPrefix(resource, "cluster/") },
		OpenURL:     "http://127.0.0.1:9901/metrics",
		OpenValue: func(line string, _ uint16, _ bool) (value string, counts bool) { // other ports have none at the same time
			name, value, _ := strings.Cut(line, "} ")
			return value, strings.HasPrefix(name, "cluster_active{")
		},
		HealthURL: "http://127.0.0.1:9901/metrics",
		HealthValue: func(line string, port uint16) (what, value string) {
			name, value, _ := strings.Cut(line, "} ")
			if !strings.Contains(name, fmt.Sprintf(`{clusterName="health-check/%d"`, port)) &&
				!strings.Contains(name, fmt.Sprintf(`{clusterName="readiness/%d"`, port)) {
				return "", ""
			}
			for what, of := range map[string]string{
				healthyListeners: `cluster_endpoints{*,state="healthy"`, passedChecks: `cluster_health_checks_total{*,result="passed"`,
				failedChecks: `cluster_health_checks_total{*,result="failed"`,
			} {
				metric, label, _ := strings.Cut(of, "*")
				if strings.HasPrefix(name, metric) && strings.HasSuffix(name, label) {
					return what, value
				}
			}
			return "", ""
		},
	}
}

// runNative runs "anymesh proxy run", and exits.
func runNative() {
	var o proxy.Options
	flags := flag.NewFlagSet("proxy run", flag.ExitOnError)
	flags.StringVar(&o.Socket, "discovery", "", "")
	flags.StringVar(&o.Node, "node", "", "")
	flags.StringVar(&o.Admin, "admin", "", "")
	flags.String("log-level", "", "")
	_ = flags.Parse(os.Args[3:])
	if err := proxy.Run(context.Background(), o, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// asPipy is the environment variable that makes the tests run as "anymesh proxy pipy".
const asPipy = "ANYMESH_CONFORMANCE_PIPY"

func pipyProgram() string { return cmp.Or(os.Getenv("PIPY"), pipy.Name) }

func ofPipy() Sidecar {
	return Sidecar{Name: pipy.Name, Driver: pipy.Driver{}, Program: "/proc/self/exe", Env: []string{asPipy + "=1"}}
}

// runPipy runs "anymesh proxy pipy", and exits.
func runPipy() {
	var o repo.Options
	flags := flag.NewFlagSet("proxy pipy", flag.ExitOnError)
	flags.StringVar(&o.Socket, "discovery", "", "")
	flags.StringVar(&o.Node, "node", "", "")
	flags.String("program", "", "")
	flags.String("admin", "", "")
	_ = flags.Parse(os.Args[3:])
	o.Program = pipyProgram()
	if err := repo.Run(context.Background(), o, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// report reports differences.
func report(t *testing.T, s Sidecar, result func() ([]string, error)) {
	t.Helper()
	wrong, err := result()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Errorf("%s: %s", s.Name, w)
	}
}

// BuiltIn and Envoys are for tests with package conformance, which imports this one.
var (
	BuiltIn = sidecarOf
	Envoys  = envoys
)

// Shown reports whether another test shows a feature of a driver, or a list says that none does.
func Shown(driver string, f model.Feature) bool {
	return elsewhere[driver][f] != "" || slices.Contains(unobserved[driver], f)
}
