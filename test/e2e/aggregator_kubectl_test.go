package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// linesPod returns a pod that prints lines.
func linesPod(name string) string {
	return runningPod(name, "/bin/sh", "-c", "while echo line from "+name+"; do sleep 0.2; done")
}

// runningPod returns a pod with label app=lines that runs a command.
func runningPod(name string, command ...string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, labels: {app: lines}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: example.com/sh, command: ["%s"]}
---
`, name, strings.Join(command, `", "`))
}

const webDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - {name: main, image: example.com/sh, command: [/bin/sleep, "3600"]}
---
`

// TestAggregatorKubectl runs unmodified kubectl against three member clusters as one.
func TestAggregatorKubectl(t *testing.T) {
	a := startAggregated(t)
	for _, c := range memberNames {
		a.create(c, linesPod("lines-"+c)+linesPod("same"))
	}
	a.create("c2", runningPod("http", "/usr/bin/env", "python3", "-m", "http.server", "8080"))
	a.create("c3", webDeployment)
	eventually(t, 40*time.Second, "eight running pods", func() error {
		out, err := a.kubectl("", "get", "pods", "--no-headers")
		if err == nil && strings.Count(out, " Running ") != 8 {
			err = fmt.Errorf("pods:\n%s", out)
		}
		return err
	})
	t.Run("reads", a.kubectlReads)
	t.Run("streams", a.kubectlStreams)
	t.Run("writes", a.kubectlWrites)
	t.Run("waits", a.kubectlWaits)
	t.Run("refusals", a.kubectlRefusals)
	t.Run("impersonation", a.kubectlImpersonation)
}

func (a *aggregated) kubectlReads(t *testing.T) {
	for _, c := range []struct {
		args  string
		wants []string
	}{
		{"get pods", []string{"NAME", "READY", "CLUSTER", "lines-c1", "lines-c2", "lines-c3"}},
		{"get pods -o wide --chunk-size 1", []string{"CLUSTER", "NODE", "lines-c1", "c2-node", "c3-node"}},
		{"get nodes", []string{"c1-node", "c2-node", "c3-node", "VERSION"}},
		{"get pods -l app=lines -o name --field-selector metadata.name!=same", []string{"pod/lines-c1\npod/lines-c2\npod/lines-c3\n"}},
		{"get pods --field-selector spec.nodeName=c2-node -o name", []string{"pod/http\npod/lines-c2\npod/same\n"}},
		{"get pods -A --field-selector status.phase=Running -o name", []string{"pod/lines-c3"}},
		{"get pod lines-c3 -o jsonpath={.spec.nodeName}", []string{"c3-node"}},
		{"get pod lines-c2 -o yaml --show-managed-fields", []string{"managedFields:", "manager: kubectl-client-side-apply"}},
		{"get deployment,replicaset", []string{"deployment.apps/web", "replicaset.apps/web-"}},
		{"describe pod lines-c2", []string{"resource.karmada.io/cached-from-cluster: c2", "Events:", "Scheduled"}},
		{"describe node c3-node", []string{"Non-terminated Pods", "lines-c3"}},
		{"events --for pod/lines-c3", []string{"Scheduled", "Pod/lines-c3"}},
		{"get pods --sort-by=.metadata.name -L app --show-labels", []string{"APP", "LABELS", "app=lines"}},
		{"get pods -l app,!nothing -o custom-columns=C:" + `.metadata.annotations.resource\.karmada\.io/cached-from-cluster`, []string{"c1", "c2", "c3"}},
		{"get deploy,rs,po", []string{"deployment.apps/web", "replicaset.apps/web-", "pod/web-"}},
		{"get events --sort-by=.lastTimestamp", []string{"Scheduled", "CLUSTER"}},
		{"describe deployment web", []string{"resource.karmada.io/cached-from-cluster: c3", "ScalingReplicaSet"}},
		{"cluster-info", []string{"is running at"}},
		{"version", []string{"Server Version"}},
		{"get configmaps", []string{"kube-root-ca.crt"}}, // of the control plane
		{"api-resources --api-group apps", []string{"deployments", "Deployment"}},
		{"explain pod.spec.nodeName", []string{"nodeName"}},
		{"auth whoami", []string{"system:masters"}},
		{"auth can-i list pods", []string{"yes"}},
	} {
		a.wants(t, c.wants, strings.Fields(c.args)...)
	}
	out, err := a.kubectl("", "get", "pod", "same", "-o", "jsonpath={.spec.nodeName}")
	if err != nil || out != "c1-node" {
		t.Errorf("the pod of the first cluster: %s%v", out, err)
	}
}

func (a *aggregated) kubectlWrites(t *testing.T) {
	a.wants(t, []string{"labeled"}, "label", "pod", "lines-c2", "seen=yes")
	a.wants(t, []string{"lines-c2"}, "get", "pods", "-l", "seen=yes") // a client reads its writes
	for kind, patch := range map[string]string{
		"merge":     `{"metadata":{"annotations":{"merge":"1"}}}`,
		"strategic": `{"metadata":{"annotations":{"strategic":"1"}}}`,
		"json":      `[{"op":"add","path":"/metadata/annotations/json","value":"1"}]`,
	} {
		a.wants(t, []string{"patched"}, "patch", "pod", "lines-c2", "--type", kind, "-p", patch)
	}
	t.Setenv("KUBE_EDITOR", "sed -i s/seen:.*/seen:\\ edited/")
	a.wants(t, []string{"edited"}, "edit", "pod", "lines-c2")
	apply := "apiVersion: v1\nkind: Pod\nmetadata: {name: lines-c2, namespace: default, labels: {applied: server}}\n"
	a.wantsWith(t, apply, []string{"serverside-applied"}, "apply", "--server-side", "-f", "-")
	a.wantsWith(t, strings.Replace(linesPod("lines-c2"), "app: lines", "app: lines, applied: client", 1),
		[]string{"configured"}, "apply", "--server-side=false", "-f", "-")
	out, err := a.kubectl("", "get", "pod", "lines-c2", "-o", "yaml")
	if err == nil {
		out, err = a.kubectl(strings.Replace(out, "seen: edited", "seen: replaced", 1), "replace", "-f", "-")
	}
	if err != nil {
		t.Error(out, err)
	}
	const columns = "jsonpath={.metadata.labels} {.metadata.annotations['merge','strategic','json']} " +
		`{.metadata.annotations['resource\.karmada\.io/cached-from-cluster']}.`
	out, err = a.in("c2", "", "get", "pod", "lines-c2", "-o", columns)
	if want := `{"app":"lines","applied":"client","seen":"replaced"} 1 1 1 .`; err != nil || out != want {
		t.Errorf("the pod in its cluster has %s, not %s; %v", out, want, err)
	}
	a.wants(t, []string{"scaled"}, "scale", "deployment", "web", "--replicas", "2")
	a.create("c3", linesPod("forced"))
	a.wants(t, []string{"condition met"}, "wait", "pod", "forced", "--for=create", "--timeout=180s")
	a.wantsWith(t, strings.Replace(linesPod("forced"), "app: lines", "app: lines, forced: again", 1),
		[]string{`pod "forced" deleted`, "pod/forced replaced"}, "replace", "--force", "-f", "-")
	if out, err := a.in("c3", "", "get", "pod", "forced", "-o", "jsonpath={.metadata.labels.forced}"); err != nil || out != "again" {
		t.Errorf("the pod in its cluster has %s, %v", out, err)
	}
	a.wants(t, []string{"deleted"}, "delete", "pod", "forced", "--timeout=180s")
	a.wants(t, []string{"image updated"}, "set", "image", "deployment/web", "main=example.com/sh:2")
	a.wants(t, []string{"annotated"}, "annotate", "deployment", "web", "seen=yes")
	a.wants(t, []string{"cordoned"}, "cordon", "c3-node")
	a.wants(t, []string{"uncordoned"}, "uncordon", "c3-node")
}

// kubectlWaits runs the commands that watch an object.
func (a *aggregated) kubectlWaits(t *testing.T) {
	a.wants(t, []string{"restarted"}, "rollout", "restart", "deployment", "web")
	a.wants(t, []string{"successfully rolled out"}, "rollout", "status", "deployment", "web", "--timeout=180s")
	a.wants(t, []string{"REVISION", "2"}, "rollout", "history", "deployment", "web")
	a.wants(t, []string{"rolled back"}, "rollout", "undo", "deployment", "web")
	a.wants(t, []string{"condition met"}, "wait", "pod", "lines-c3", "--for=condition=Ready", "--timeout=180s")
	a.create("c3", linesPod("short"))
	a.wants(t, []string{"condition met"}, "wait", "pod", "short", "--for=jsonpath={.status.phase}=Running", "--timeout=180s")
	a.wants(t, []string{"deleted"}, "delete", "pod", "short", "--timeout=180s") // it waits for the end
	if out, err := a.in("c3", "", "get", "pod", "short"); err == nil {
		t.Errorf("pod short exists: %s", out)
	}
}

func (a *aggregated) kubectlRefusals(t *testing.T) {
	a.refused(t, "the object exists in the clusters c1, c2, c3", "delete", "pod", "same")
	a.refused(t, "create", "run", "new", "--image", "example.com/sh")
	if out, err := a.kubectl("", "auth", "can-i", "create", "pods"); err == nil || !strings.Contains(out+err.Error(), "no - objects of member clusters") {
		t.Errorf("auth can-i create pods: %s%v", out, err)
	}
	a.refusedWith(t, linesPod("nowhere"), "not found", "apply", "--server-side", "-f", "-")
	a.refused(t, "Metrics API not available", "top", "pods") // the members have no metrics API
	a.refused(t, "not found", "logs", "nowhere")
	a.refused(t, "field label not supported", "get", "pods", "--field-selector", "spec.color=red")
	for _, c := range memberNames {
		if out, err := a.in(c, "", "get", "pod", "-o", "name"); err != nil || strings.Contains(out, "nowhere") {
			t.Errorf("cluster %s: %s%v", c, out, err)
		}
	}
}

// kubectlImpersonation acts as users who may read pods in the control plane. One may change them in cluster c2, too.
func (a *aggregated) kubectlImpersonation(t *testing.T) {
	const rules = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shop}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shop}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: shop}
`
	a.create("c1", rules)
	a.create("c2", rules)
	a.wants(t, []string{"bob", "shop"}, "auth", "whoami", "--as", "bob", "--as-group", "shop")
	a.wants(t, []string{"lines-c3"}, "get", "pods", "--as", "bob", "--as-group", "shop")
	a.wants(t, []string{"labeled"}, "label", "pod", "lines-c2", "by=bob", "--as", "bob", "--as-group", "shop")
	a.refused(t, `User "bob" cannot patch resource "pods"`, "label", "pod", "lines-c3", "by=bob", "--as", "bob", "--as-group", "shop")
	a.refused(t, `user "eve" cannot list it`, "get", "pods", "--as", "eve")
}

// kubectlStreams runs the commands whose answers are streams.
func (a *aggregated) kubectlStreams(t *testing.T) {
	a.wants(t, []string{"ran in lines-c2"}, "exec", "lines-c2", "--", "/bin/sh", "-c", "echo ran in $(hostname)")
	t.Setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false") // SPDY
	a.wants(t, []string{"ran in lines-c3"}, "exec", "lines-c3", "--", "/bin/sh", "-c", "echo ran in $(hostname)")
	t.Setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "true")
	a.wantsWith(t, "text of the test", []string{"text of the test"}, "exec", "-i", "lines-c3", "--", "/bin/cat")
	a.expect(t, a.stream(t, "attach", "lines-c3"), "line from lines-c3")
	logs := a.stream(t, "logs", "-f", "--tail", "1", "lines-c2")
	for range 2 {
		a.expect(t, logs, "line from lines-c2")
	}
	forward := a.expect(t, a.stream(t, "port-forward", "pod/http", ":8080"), `127.0.0.1:(\d+)`)
	response, err := http.Get("http://127.0.0.1:" + forward[1])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), "Directory listing") {
		t.Errorf("port-forward: %s, %v", body, err)
	}
	a.wants(t, []string{"Directory listing"}, "get", "--raw", "/api/v1/namespaces/default/pods/http:8080/proxy/")
	watch := a.stream(t, "get", "pods", "-w", "--output-watch-events")
	a.expect(t, watch, `ADDED\s+lines-c1`)
	a.create("c3", runningPod("passing", "/bin/sleep", "3600"))
	a.expect(t, watch, `ADDED\s+passing .*c3`)
	a.expect(t, watch, `MODIFIED\s+passing\s+1/1\s+Running .*c3`)
	if _, err := a.in("c3", "", "delete", "pod", "passing"); err != nil {
		t.Fatal(err)
	}
	a.expect(t, watch, `DELETED\s+passing .*c3`)
}

// stream starts kubectl until the test ends, and returns its lines.
func (a *aggregated) stream(t *testing.T, args ...string) <-chan string {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(lab.bin, "anymesh-sandbox"), append([]string{
		"kubectl", "--name", lab.name, "--", "--kubeconfig", a.kubeconfig, "-n", "default",
	}, args...)...)
	from, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = c.Stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(from); s.Scan(); {
			lines <- s.Text()
		}
		_ = c.Wait() // it is killed when the test ends
	}()
	return lines
}

// expect reads lines until one matches, and returns the groups of the expression.
func (a *aggregated) expect(t *testing.T, lines <-chan string, expression string) []string {
	t.Helper()
	var seen []string
	end := time.After(2 * time.Minute)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the stream ends without %s: %q", expression, seen)
			}
			if found := regexp.MustCompile(expression).FindStringSubmatch(line); found != nil {
				return found
			}
			seen = append(seen, line)
		case <-end:
			t.Fatalf("no line matches %s: %q", expression, seen)
		}
	}
}
