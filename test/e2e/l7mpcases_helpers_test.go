package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/test/poll"
)

// l7mpServers are the arguments of the servers that stand in place of an application's image.
type l7mpServers map[string][]string

// applyL7mpCase applies a file of testdata/l7mp, with servers in place of images, to a new namespace.
func applyL7mpCase(t *testing.T, namespace, file string, servers l7mpServers) {
	t.Helper()
	apply(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s: enabled}}}\n---\n", namespace,
		"l7mp.io/injection")+l7mpCase(t, file, servers))
	run(t, "-n", namespace, "wait", "--for=condition=Available", "deployment", "--all", "--timeout=180s")
}

var applicationImage = regexp.MustCompile(`image: example/([a-z]+):1`)

// l7mpCase returns the manifests of a file, with servers in place of images.
func l7mpCase(t *testing.T, file string, servers l7mpServers) string {
	t.Helper()
	return withServers(t, l7mpProgram(t, file), servers)
}

// withServers returns manifests with servers in place of images.
func withServers(t *testing.T, manifests string, servers l7mpServers) string {
	t.Helper()
	program := l7mpProgram(t, "server.py")
	text := applicationImage.ReplaceAllStringFunc(manifests, func(image string) string {
		name := applicationImage.FindStringSubmatch(image)[1]
		if name == "l7mp" {
			return image
		}
		command, err := json.Marshal(append([]string{"python3", "-c", program}, servers[name]...))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("image: anymesh.dev/python, command: %s", command)
	})
	return strings.ReplaceAll(text, "    spec:\n      containers:", "    spec:\n      terminationGracePeriodSeconds: 1\n      containers:")
}

func l7mpProgram(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/l7mp", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// l7mpPods returns the addresses of the pods of an application.
func l7mpPods(t *testing.T, namespace, app string) []string {
	t.Helper()
	return strings.Fields(run(t, "-n", namespace, "get", "pods", "-l", "app="+app, "-o",
		"jsonpath={.items[*].status.podIP}"))
}

// flow is what a client of a flow has seen.
type flow struct {
	Flow           string
	Sent, Received int
	Answers        map[string]int
	Errors         []string
}

// flows are clients that send all the time.
type flows struct {
	file string
	job  *poll.Job[[]flow]
}

// startFlows sends on flows, PROTOCOL/ADDRESS/PORT/SOURCE, until they are stopped. It returns when each has had an
// answer, or none in some seconds.
func startFlows(t *testing.T, specs ...string) flows {
	t.Helper()
	f := flows{file: filepath.Join(t.TempDir(), "stop")}
	argv := append([]string{"python3", "-c", l7mpProgram(t, "flows.py"), f.file}, specs...)
	f.job = poll.Background(func() (out []flow, err error) {
		answer, err := onNode(contextOf(t), argv...)
		if err == nil {
			err = json.Unmarshal([]byte(answer), &out)
		}
		return out, err
	})
	t.Cleanup(func() {
		f.end(t)
		<-f.job.Done()
	})
	eventually(t, 20*time.Second, "the flows begin", func() error {
		_, err := f.now()
		return err
	})
	return f
}

// now returns what the clients have seen until now.
func (f flows) now() (out []flow, err error) {
	text, err := os.ReadFile(f.file + ".now")
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// await waits until a check is true of each flow.
func (f flows) await(t *testing.T, what string, ok func(flow) bool) {
	t.Helper()
	eventually(t, 20*time.Second, what, func() error {
		all, err := f.now()
		for _, one := range all {
			if !ok(one) {
				return fmt.Errorf("%+v", one)
			}
		}
		return err
	})
}

func (f flows) end(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(f.file, nil, 0o600); err != nil {
		t.Error(err)
	}
}

// stop ends the clients, and returns what they have seen.
func (f flows) stop(t *testing.T) []flow {
	t.Helper()
	f.end(t)
	return f.job.Wait(t)
}

// onLoopback gives the node addresses while a test runs.
func onLoopback(t *testing.T, addresses ...string) {
	t.Helper()
	for _, a := range addresses {
		mustOnNode(t, "ip", "address", "add", a+"/32", "dev", "lo")
		t.Cleanup(func() {
			if _, err := onNode(context.Background(), "ip", "address", "del", a+"/32", "dev", "lo"); err != nil {
				t.Error(err)
			}
		})
	}
}

// answers waits until a server whose answers begin with a text answers a message.
func answers(t *testing.T, network, address string, port int, prefix string) {
	t.Helper()
	eventually(t, 20*time.Second, fmt.Sprintf("an answer of %s on %s port %d", prefix, network, port), func() error {
		out, err := send(t, network, address, port, []byte("hello"))
		if err != nil || !strings.HasPrefix(out, prefix) {
			return fmt.Errorf("got %q: %w", out, err)
		}
		return nil
	})
}

// l7mpCondition waits until the condition of an object contains a text.
func l7mpCondition(t *testing.T, namespace, object, text string) {
	t.Helper()
	eventually(t, 20*time.Second, "condition of "+object, func() error {
		out, err := kubectl(t.Context(), "-n", namespace, "get", object, "-o",
			`jsonpath={range .status.conditions[*]}{.status} {.reason} {.message}{end}`)
		if err != nil || !strings.Contains(out, text) {
			return fmt.Errorf("%q lacks %q: %w", out, text, err)
		}
		return nil
	})
}

// startServers runs servers on the node while a test runs. Their arguments are those of server.py.
func startServers(t *testing.T, arguments ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	job := poll.Background(func() (string, error) {
		return onNode(ctx, append([]string{"python3", "-c", l7mpProgram(t, "server.py")}, arguments...)...)
	})
	t.Cleanup(func() { stop(); <-job.Done() })
}
