// Package e2e tests Anymesh as users run it: on a real Kubernetes cluster with the real Envoy, through kubectl and
// client-go.
//
// All tests share one cluster with Anymesh and the colors example. Its front makes no calls on its own; tests trigger
// them. The programs are in the folder named by ANYMESH_BIN, or in bin.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"anymesh.dev/anymesh/test/poll"
)

const root = "../.."

// lab is the cluster that the tests share.
var lab struct {
	bin, name, kubeconfig string
	config                *rest.Config
	kube                  *kubernetes.Clientset
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	lab.bin = os.Getenv("ANYMESH_BIN")
	if lab.bin == "" {
		lab.bin = filepath.Join(root, "bin")
	}
	if lab.bin, err = filepath.Abs(lab.bin); err != nil {
		return 1, err
	}
	lab.name = fmt.Sprintf("e2e-%d", os.Getpid())
	defer func() {
		if _, downErr := anymesh(context.Background(), "sandbox", "down", "--name", lab.name); err == nil {
			err = downErr
		}
		err = errors.Join(err, stopClusters())
		_ = os.Remove(testImagesFile()) // the file does not exist if startup failed
	}()
	if err := up(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// up starts the cluster and installs Anymesh and the colors example.
func up(ctx context.Context) error {
	images, err := writeTestImages()
	if err != nil {
		return err
	}
	out, err := anymesh(ctx, "sandbox", "up", "--name", lab.name, "--output", "json",
		"--images", filepath.Join(root, "examples/images.yaml"), "--images", images)
	if err != nil {
		return err
	}
	var answer struct {
		Clusters []struct{ Kubeconfig string }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Clusters) == 0 {
		return fmt.Errorf("output of sandbox up %q: %w", out, err)
	}
	lab.kubeconfig = answer.Clusters[0].Kubeconfig
	if lab.config, err = clientcmd.BuildConfigFromFlags("", lab.kubeconfig); err != nil {
		return err
	}
	lab.config.QPS = -1 // no limit
	if lab.kube, err = kubernetes.NewForConfig(lab.config); err != nil {
		return err
	}
	if err := installAnymesh(ctx); err != nil {
		return err
	}
	for _, file := range []string{"00-mesh", "color", "tally", "store", "front"} {
		text, err := os.ReadFile(filepath.Join(root, "examples/colors", file+".yaml"))
		if err != nil {
			return err
		}
		quiet := strings.ReplaceAll(string(text), "--rate=100", "--rate=0")
		if _, err := kubectlInput(ctx, quiet, "apply", "-f", "-"); err != nil {
			return err
		}
	}
	_, err = kubectl(ctx, "-n", "colors", "wait", "--for=condition=Available", "deployment", "--all", "--timeout=180s")
	if err != nil {
		pods, _ := kubectl(ctx, "-n", "colors", "get", "pods", "-o", "wide")
		return fmt.Errorf("%w\n%s", err, pods)
	}
	return nil
}

// installAnymesh installs Anymesh in the cluster, with the settings of the shared cluster and others only. One replica
// is enough for one node.
func installAnymesh(ctx context.Context, others ...string) error {
	_, err := anymesh(ctx, append([]string{
		"install", "--kubeconfig", lab.kubeconfig, "--reset-values", "--set", "appmesh.acm.certificates." + vaultARN + "=vault-acm",
		"--set", "appmesh.gatewayHealthCheck=Readiness", "--set", "replicas=1",
		"--values", filepath.Join(root, "test/e2e/testdata/drivers.yaml"),
	}, others...)...)
	return err
}

func anymesh(ctx context.Context, args ...string) (string, error) {
	return command(ctx, "", filepath.Join(lab.bin, "anymesh"), args...)
}

// kubectl runs the kubectl of the sandbox.
func kubectl(ctx context.Context, args ...string) (string, error) {
	return kubectlInput(ctx, "", args...)
}

func kubectlInput(ctx context.Context, input string, args ...string) (string, error) {
	return command(ctx, input, filepath.Join(lab.bin, "anymesh"),
		append([]string{"sandbox", "kubectl", "--name", lab.name, "--"}, args...)...)
}

// command runs a program and returns its standard output. The error contains its standard error.
func command(ctx context.Context, input, program string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Stdin = strings.NewReader(input)
	var out, complaints bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaints
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err,
			complaints.String())
	}
	return out.String(), nil
}

// onlyLong skips a test unless "make test-long" runs it. It is for variants of behavior that "make test" already
// covers, and for attacks, which take the processors from the tests beside them.
func onlyLong(t *testing.T) {
	t.Helper()
	if os.Getenv("ANYMESH_TEST_LONG") == "" {
		t.Skip("run with make test-long")
	}
}

// hang is the limit of waits that only catch a hang: on a machine with other work, everything takes long.
const hang = 3 * time.Minute

// eventually polls until check returns nil, and fails with its last error. usual is how long that takes on a machine
// without other work: the log says when it takes longer.
func eventually(t *testing.T, usual time.Duration, what string, check func() error) {
	t.Helper()
	began := time.Now()
	within(t, max(usual, hang), what, check)
	if took := time.Since(began); took > usual {
		t.Logf("%s: after %v, usually within %v", what, took.Round(time.Second), usual)
	}
}

// within is eventually for a time that is a requirement.
func within(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v: %v", what, limit, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// apply applies manifests and deletes them when the test ends.
func apply(t *testing.T, manifests string) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := kubectlInput(context.Background(), manifests, "delete", "--ignore-not-found", "--wait=true",
			"--timeout=180s", "-f", "-"); err != nil {
			t.Error(err)
		}
	})
	if _, err := kubectlInput(t.Context(), manifests, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// run runs kubectl and fails the test on error.
func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// outcome is the result of a call.
type outcome struct {
	Status         int
	Version, Error string
	Body           string
}

// callFrom makes the pod behind a Service of namespace colors call a URL.
func callFrom(ctx context.Context, service, target string) (outcome, error) {
	return callFromIn(ctx, "colors", service, target)
}

func callFromIn(ctx context.Context, namespace, service, target string) (outcome, error) {
	var o outcome
	raw, err := lab.kube.CoreV1().RESTClient().Get().Namespace(namespace).Resource("services").Name(service+":8080").
		SubResource("proxy").Suffix("call").Param("url", target).DoRaw(ctx)
	if err != nil {
		return o, fmt.Errorf("calling %s from %s: %w", target, service, err)
	}
	return o, json.Unmarshal(raw, &o)
}

// callsFrom makes several calls and counts the outcomes.
func callsFrom(t *testing.T, service, target string, times int) map[string]int {
	t.Helper()
	counts, err := countCalls(t.Context(), service, target, times)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// maxCalls limits the calls of one request: the sidecar of the caller ends requests after 15 s.
const maxCalls = 500

// countCalls is callsFrom for any goroutine.
func countCalls(ctx context.Context, service, target string, times int) (map[string]int, error) {
	counts := map[string]int{}
	for ; times > 0; times -= maxCalls {
		raw, err := lab.kube.CoreV1().RESTClient().Get().Namespace("colors").Resource("services").Name(service+":8080").
			SubResource("proxy").Suffix("call").Param("url", target).Param("times", fmt.Sprint(min(times, maxCalls))).DoRaw(ctx)
		if err != nil {
			return nil, err
		}
		part := map[string]int{}
		if err := json.Unmarshal(raw, &part); err != nil {
			return nil, err
		}
		for outcome, n := range part {
			counts[outcome] += n
		}
	}
	return counts, nil
}

// startCalls makes several calls in another goroutine, which counts the outcomes.
func startCalls(t *testing.T, service, target string, times int) *poll.Job[map[string]int] {
	t.Helper()
	return poll.Background(func() (map[string]int, error) { return countCalls(t.Context(), service, target, times) })
}

// want returns an error that describes the outcome unless ok is true.
func want(o outcome, err error, ok bool, wish string) error {
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("want %s, got status %d, version %q, error %q, body %.200q", wish, o.Status, o.Version,
			o.Error, o.Body)
	}
	return nil
}

func hostPort(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return (&url.URL{Scheme: "http", Host: fmt.Sprintf("%s:%d", host, port), Path: "/"}).String()
}
