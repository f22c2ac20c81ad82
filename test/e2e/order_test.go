package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOrderOfManifests applies the objects of the example in reverse order: references are missing for a moment, which
// is in conditions, and causes no Warning events. A fault that stays has one, after 5 seconds at the earliest.
func TestOrderOfManifests(t *testing.T) {
	files, err := filepath.Glob("../../examples/colors/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no example: %v", err)
	}
	var objects []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		moved := strings.NewReplacer("namespace: colors", "namespace: backward", "colors.svc", "backward.svc").Replace(string(text))
		for _, o := range strings.Split(moved, "\n---\n") {
			if strings.Contains(o, "kind: Virtual") {
				objects = append(objects, o)
			}
		}
	}
	slices.Reverse(objects)
	apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: backward, labels: {mesh: colors}}}`)
	began := time.Now()
	if _, err := kubectlInput(t.Context(), strings.Join(objects, "\n---\n"), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	quick := time.Since(began) < 4*time.Second // a reference that is missing for longer has an event
	warnings := func() string {
		return run(t, "-n", "backward", "get", "events", "--field-selector", "type=Warning", "-o",
			`jsonpath={range .items[*]}{.regarding.name}{.involvedObject.name} {.reason}{"\n"}{end}`)
	}
	conditions := func(name string) string {
		return run(t, "-n", "backward", "get", "virtualnodes", name, "-o", "jsonpath={.status.conditions[0].status}")
	}
	eventually(t, 20*time.Second, "everything is served", func() error {
		got := run(t, "-n", "backward", "get", "virtualnodes,virtualservices,virtualrouters", "-o",
			"jsonpath={.items[*].status.conditions[0].status}")
		if len(strings.Fields(got)) != len(objects) || strings.Contains(got, "False") {
			return fmt.Errorf("conditions: %s", got)
		}
		return nil
	})
	began = time.Now()
	fault := `{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: faulty, namespace: backward},
		spec: {backends: [{virtualService: {virtualServiceRef: {name: missing}}}]}}`
	if _, err := kubectlInput(t.Context(), fault, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the condition of the fault", func() error {
		if got := conditions("faulty"); got != "False" {
			return fmt.Errorf("status %q", got)
		}
		return nil
	})
	const event = "faulty ReferenceNotFound\n"
	eventually(t, 20*time.Second, "the event of the fault", func() error {
		if got := warnings(); got != event && (quick || !strings.Contains(got, event)) {
			return fmt.Errorf("events: %q", got)
		}
		return nil
	})
	columns := strings.Fields(run(t, "-n", "backward", "get", "virtualnodes", "faulty"))
	if len(columns) != 10 || !slices.Equal(columns[:5], []string{"NAME", "ARN", "AGE", "SERVED", "REASON"}) ||
		!slices.Equal(columns[8:], []string{"False", "ReferenceNotFound"}) {
		t.Errorf("kubectl get shows %q", columns)
	}
	if took := time.Since(began); took < 5*time.Second {
		t.Errorf("the event is there after %s", took)
	}
}

// TestRolesOfUsers checks that editors of a namespace may write the objects of the mesh in it, and viewers may not.
func TestRolesOfUsers(t *testing.T) {
	var bindings []string
	for _, role := range []string{"view", "edit"} {
		bindings = append(bindings, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %[1]s, namespace: colors},
			roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]}`, role))
	}
	apply(t, strings.Join(bindings, "\n---\n"))
	for _, c := range []struct{ user, verb, kind, want string }{
		{"view", "list", "virtualnodes.appmesh.k8s.aws", "yes"}, {"view", "patch", "virtualnodes.appmesh.k8s.aws", "no"},
		{"edit", "list", "virtualnodes.appmesh.k8s.aws", "yes"}, {"edit", "patch", "virtualnodes.appmesh.k8s.aws", "yes"},
		{"edit", "create", "routes.standard.oam.dev", "yes"}, {"edit", "patch", "meshes.appmesh.k8s.aws", "no"},
		{"edit", "patch", "virtualnodes.appmesh.k8s.aws/status", "no"},
	} {
		resource, subresource, _ := strings.Cut(c.kind, "/")
		eventually(t, 20*time.Second, c.user+" "+c.verb+" "+c.kind, func() error {
			got, _ := kubectl(t.Context(), "auth", "can-i", c.verb, resource, "--subresource="+subresource, "-n", "colors", "--as="+c.user)
			if strings.TrimSpace(got) != c.want {
				return fmt.Errorf("got %q, want %s", got, c.want)
			}
			return nil
		})
	}
}
