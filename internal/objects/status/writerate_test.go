package status

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// bound is how many writes there may be in some time, whatever happens.
func bound(took time.Duration) int { return burst + int(took.Seconds()*WritesPerSecond) + 1 }

// One Mesh that goes back and forth changes what there is to say about hundreds of objects, each time: writes keep to
// their rate, no object is written more often than it may be, and in the end all say what is the case.
func TestWriteRateWithManyObjects(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		const objects, flips = 500, 21
		c.create(t, mesh())
		for i := range objects {
			vn := node(fmt.Sprintf("n%d", i), "")
			if err := c.Create(t.Context(), vn); err != nil {
				t.Fatal(err)
			}
			c.flow.Set(vn)
		}
		c.flow.Sync()
		began := time.Now()
		c.run(t)
		for i := range flips {
			m := &api.Mesh{}
			if err := c.Get(t.Context(), client.ObjectKey{Name: "m"}, m); err != nil {
				t.Fatal(err)
			}
			m.Spec.NamespaceSelector = &metav1.LabelSelector{}
			if i%2 == 0 {
				m.Spec.NamespaceSelector.MatchLabels = map[string]string{"mesh": "another"}
			}
			c.update(t, m, true)
			pass(300 * time.Millisecond)
		}
		storm := time.Since(began)
		writes := c.written()
		if most := bound(storm); len(writes) > most || len(writes) < burst {
			t.Errorf("%d writes in %v for %d changes, not at most %d", len(writes), storm, objects*flips, most)
		}
		perObject := map[string]int{}
		for _, name := range writes {
			perObject[name]++
		}
		for name, n := range perObject {
			if most := int(storm.Seconds()) + 2; n > most {
				t.Errorf("%s is written %d times in %v", name, n, storm)
			}
		}
		before := c.node(t, fmt.Sprintf("n%d", objects-1)).Status
		pass(objects / WritesPerSecond * time.Second)
		if n := len(c.written()); n > objects+1 {
			t.Errorf("%d writes after the storm, for %d objects", n, objects)
		}
		for i := range objects {
			if got := summary(c.node(t, fmt.Sprintf("n%d", i))); !strings.HasPrefix(got, "VirtualNodeActive False") {
				t.Fatalf("n%d says %q; before it was %v", i, got, before)
			}
		}
		pass(time.Minute)
		if n := len(c.written()); n != 0 || c.queue.Len() != 0 {
			t.Errorf("%d writes without any change", n)
		}
	})
}

// How many writes there may be in a second is as it is set.
func TestWriteRateIsConfigurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, objects = 7, burst + 100
		c := newCluster(t, func(o *Options) { o.WritesPerSecond = rate })
		c.create(t, mesh())
		for i := range objects {
			c.create(t, node(fmt.Sprintf("n%d", i), ""))
		}
		c.flow.Sync()
		c.run(t)
		pass(100 * time.Millisecond)
		if n := len(c.written()); n != burst {
			t.Errorf("%d writes at once, not %d", n, burst)
		}
		pass(5 * time.Second)
		if n := len(c.written()); n != 5*rate {
			t.Errorf("%d writes in 5 s, not %d", n, 5*rate)
		}
	})
}

// Ten thousand findings about one object are one status, of a size that the API server takes.
func TestManyFindingsOnOneObject(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("back", ""))
		c.run(t)
		c.written()
		began := time.Now()
		for round := range 50 {
			all := make([]model.Finding, 10_000)
			for i := range all {
				all[i] = about("back",
					fmt.Sprintf("%05d in round %d: %s", i, round, strings.Repeat("€", max(0, 2000-i))))
			}
			c.setDelivered(all...)
			pass(50 * time.Millisecond)
		}
		took := time.Since(began)
		pass(minWriteInterval)
		if n, most := len(c.written()), int(took.Seconds())+2; n > most {
			t.Errorf("%d writes in %v for half a million findings, not at most %d", n, took, most)
		}
		message := *messageOf(c.node(t, "back"))
		if !strings.Contains(message, "in round 49") || !strings.HasSuffix(message, "; and 9992 more") ||
			len(message) > 32768 {
			t.Errorf("the message has %d bytes: %.100s ... %s", len(message), message, message[len(message)-50:])
		}
		if got := strings.Split(c.happened(), "\n"); len(got) > int(took.Seconds())+2 {
			t.Errorf("%d events", len(got))
		}
	})
}

// A sidecar may say anything. What it says is written once, in so far as it can be written.
func TestInvalidMessagesAreSanitized(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("back", ""))
		c.run(t)
		pass(minWriteInterval)
		c.written()
		var all []model.Finding
		for i := range messageCount {
			all = append(all, about("back", fmt.Sprint(i)+strings.Repeat("\xff\x00€", 100_000)))
		}
		c.setDelivered(all...)
		pass(2 * resyncPeriod)
		if n := len(c.written()); n != 1 {
			t.Errorf("%d writes", n)
		}
		if message := *messageOf(c.node(t, "back")); len(message) > 32768 || len(message) < 30000 ||
			!utf8.ValidString(message) {
			t.Errorf("the message has %d bytes", len(message))
		}
	})
}

const messageCount = 20

func messageOf(vn *api.VirtualNode) *string { return &vn.Status.Conditions[0].Message }
