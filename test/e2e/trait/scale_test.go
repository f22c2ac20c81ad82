package trait

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// work is what the controller did.
type work struct{ evaluations, writes, statusWrites int }

func workOf(t *testing.T, registry *prometheus.Registry) work {
	return work{
		counter(t, registry, "anymesh_route_evaluations_total"), counter(t, registry, "anymesh_route_writes_total"),
		counter(t, registry, "anymesh_route_status_writes_total"),
	}
}

// settled waits until the controller has nothing to do and does nothing for a while, and returns what it did.
func settled(t *testing.T, registry *prometheus.Registry) work {
	t.Helper()
	last, equal := work{}, 0
	deadline := time.Now().Add(2 * time.Minute)
	for equal < 30 {
		if time.Now().After(deadline) {
			t.Fatalf("the controller is still busy: %+v", last)
		}
		time.Sleep(50 * time.Millisecond)
		now := workOf(t, registry)
		if equal++; now != last || counter(t, registry, "anymesh_workqueue_depth") > 0 {
			last, equal = now, 0
		}
	}
	return last
}

// addRoutes creates Deployments, and Routes that lead to them.
func addRoutes(t *testing.T, namespace string, from, to int) {
	t.Helper()
	var all sync.WaitGroup
	numbers := make(chan int)
	for range 16 {
		all.Go(func() {
			for i := range numbers {
				name := fmt.Sprintf("site-%d", i)
				text := strings.NewReplacer("name: web}", "name: "+name+"}", "app: web", "app: "+name, "shop.", name+".", "name: site,", "name: "+name+",").
					Replace(before(deployment) + "---" + hostOnly)
				if err := applyAll(t.Context(), text, namespace); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := from; i < to; i++ {
		numbers <- i
	}
	close(numbers)
	all.Wait()
}

// One change costs the same with many Routes as with few.
func TestWorkDoesNotGrowWithTheNumberOfRoutes(t *testing.T) {
	registry := start(t)
	ns := newNamespace(t)
	changes := []struct {
		name   string
		change func(round int)
	}{
		{"a rule", func(round int) {
			apply(t, ns, strings.NewReplacer("shop.", "site-3.", "name: web}", "name: site-3}", "name: site,", "name: site-3,").Replace(hostOnly)+
				fmt.Sprintf("  rules: [{name: auto-created, customHeaders: {X-Round: r%d}}]\n", round))
		}},
		{"a port", func(round int) {
			apply(t, ns, strings.NewReplacer("name: web}", "name: site-3}", "app: web", "app: site-3", "8080", fmt.Sprint(9000+round)).
				Replace(before(deployment)))
		}},
		{"a pod", func(round int) {
			apply(t, ns, strings.NewReplacer("app: web", "app: site-3", "web-1", fmt.Sprintf("web-%d", round)).
				Replace(after(deployment)))
		}},
		{"a Service of nobody", func(round int) {
			apply(t, ns, fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: nobody-%d}\nspec: {ports: [{port: 80}]}\n", round))
		}},
	}
	costs := map[string][]work{}
	most := 200 // the counts are exact
	if os.Getenv("ANYMESH_TEST_LONG") != "" {
		most = 1000
	}
	for round, count := range []int{10, most} {
		addRoutes(t, ns, []int{0, 10}[round], count)
		last := settled(t, registry)
		if round == 1 && last.writes < 2*count {
			t.Fatalf("%d Routes caused only %d writes", count, last.writes)
		}
		for _, c := range changes {
			c.change(round)
			now := settled(t, registry)
			costs[c.name] = append(costs[c.name], work{
				now.evaluations - last.evaluations, now.writes - last.writes, now.statusWrites - last.statusWrites,
			})
			last = now
		}
	}
	for name, c := range costs {
		t.Logf("%s: with 10 Routes %+v, with %d %+v", name, c[0], most, c[1])
		few, many := c[0], c[1]
		if many.writes > few.writes || many.evaluations > max(3, few.evaluations) ||
			many.statusWrites > max(1, few.statusWrites) {
			t.Errorf("%s: with 10 Routes %+v, with %d %+v", name, few, most, many)
		}
	}
	if c := costs["a Service of nobody"]; c[0] != (work{}) || c[1] != (work{}) {
		t.Errorf("a Service that no Route reads costs %+v", c)
	}
	if c := costs["a rule"]; c[0].writes != 1 {
		t.Errorf("a changed rule costs %+v, want one write", c)
	}
}

// A restart writes nothing.
func TestRestartWritesNothing(t *testing.T) {
	ns := newNamespace(t)
	registry := start(t)
	apply(t, ns, deployment+"---"+hostOnly)
	eventually(t, "the first run", func() error { return wantReady(t, ns, "site", "False", "NotServed") })
	settled(t, registry)
	again := start(t)
	eventually(t, "an evaluation", func() error {
		if workOf(t, again).evaluations == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
	if w := settled(t, again); w.writes != 0 || w.statusWrites != 0 {
		t.Errorf("a restart costs %+v", w)
	}
}

// A kind is watched while a Route refers to it.
func TestInformersRunWhileTheyAreUsed(t *testing.T) {
	registry := start(t)
	ns := newNamespace(t)
	settled(t, registry)
	count := func() int { return counter(t, registry, "anymesh_route_informers") }
	apply(t, ns, strings.NewReplacer("apps/v1", "batch/v1", "Deployment", "CronJob").Replace(hostOnly))
	eventually(t, "an informer of CronJobs", func() error {
		return wantReady(t, ns, "site", "False", "WorkloadNotFound")
	})
	settled(t, registry) // Routes of other tests have their informers, too
	with := count()
	remove(t, routeVersion, "Route", ns, "site")
	eventually(t, "no informer of CronJobs", func() error {
		if count() != with-1 {
			return fmt.Errorf("there are %d informers, before %d", count(), with)
		}
		return nil
	})
}

// The control plane says which rule it needs for a kind that it must not read.
func TestForbiddenKind(t *testing.T) {
	start(t)
	ns := newNamespace(t)
	apply(t, "", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	apply(t, ns, `
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
---`+strings.Replace(hostOnly, "apiVersion: apps/v1, kind: Deployment", "apiVersion: example.com/v1, kind: Widget", 1))
	eventually(t, "the condition", func() error { return wantReady(t, ns, "site", "False", "Forbidden") })
	message := routeOf(t, ns, "site").Status.Conditions[0].Message
	if want := `{apiGroups: ["example.com"], resources: ["widgets"], verbs: [get, list, watch]}`; !strings.Contains(message, want) {
		t.Errorf("message %q does not contain %s", message, want)
	}
}
