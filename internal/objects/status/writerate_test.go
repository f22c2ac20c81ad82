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

// maxWrites returns the maximum number of writes in a time with the default rate.
func maxWrites(took time.Duration) int { return burst + int(took.Seconds()*WritesPerSecond) + 1 }

// A Mesh that changes repeatedly changes the status of hundreds of objects each time. The writes respect the rate
// limit and the minimum interval per object. In the end all statuses are current.
func TestWriteRateWithManyObjects(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		const objects, changes = 500, 21
		c.create(t, mesh())
		for i := range objects {
			vn := node(fmt.Sprintf("n%d", i), "")
			if err := c.Create(t.Context(), vn); err != nil {
				t.Fatal(err)
			}
			c.engine.Set(vn)
		}
		c.engine.Sync()
		began := time.Now()
		c.run(t)
		for i := range changes {
			m := &api.Mesh{}
			if err := c.Get(t.Context(), client.ObjectKey{Name: "m"}, m); err != nil {
				t.Fatal(err)
			}
			m.Spec.NamespaceSelector = &metav1.LabelSelector{}
			if i%2 == 0 {
				m.Spec.NamespaceSelector.MatchLabels = map[string]string{"mesh": "another"}
			}
			c.update(t, m, true)
			advance(300 * time.Millisecond)
		}
		elapsed := time.Since(began)
		writes := c.takeWrites()
		if most := maxWrites(elapsed); len(writes) > most || len(writes) < burst {
			t.Errorf("got %d writes in %v for %d changes, want at most %d", len(writes), elapsed, objects*changes, most)
		}
		perObject := map[string]int{}
		for _, name := range writes {
			perObject[name]++
		}
		for name, n := range perObject {
			if most := int(elapsed.Seconds()) + 2; n > most {
				t.Errorf("%s: got %d writes in %v", name, n, elapsed)
			}
		}
		before := c.node(t, fmt.Sprintf("n%d", objects-1)).Status
		advance(objects / WritesPerSecond * time.Second)
		if n := len(c.takeWrites()); n > objects+1 {
			t.Errorf("%d writes after the changes, for %d objects", n, objects)
		}
		for i := range objects {
			if got := summary(c.node(t, fmt.Sprintf("n%d", i))); !strings.HasPrefix(got, "VirtualNodeActive False") {
				t.Fatalf("n%d: got status %q; before it was %v", i, got, before)
			}
		}
		advance(time.Minute)
		if n := len(c.takeWrites()); n != 0 || c.queue.Len() != 0 {
			t.Errorf("got %d writes without a change", n)
		}
	})
}

func TestWriteRateIsConfigurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, objects = 7, burst + 100
		c := newCluster(t, func(o *Options) { o.WritesPerSecond = rate })
		c.create(t, mesh())
		for i := range objects {
			c.create(t, node(fmt.Sprintf("n%d", i), ""))
		}
		c.engine.Sync()
		c.run(t)
		advance(100 * time.Millisecond)
		if n := len(c.takeWrites()); n != burst {
			t.Errorf("got %d writes at once, want %d", n, burst)
		}
		advance(5 * time.Second)
		if n := len(c.takeWrites()); n != 5*rate {
			t.Errorf("got %d writes in 5 s, want %d", n, 5*rate)
		}
	})
}

// Ten thousand findings about one object give one status that is within the size limit of the API server.
func TestManyFindingsOnOneObject(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("back", ""))
		c.run(t)
		c.takeWrites()
		began := time.Now()
		for round := range 50 {
			all := make([]model.Finding, 10_000)
			for i := range all {
				all[i] = deliveryFinding("back",
					fmt.Sprintf("%05d in round %d: %s", i, round, strings.Repeat("€", max(0, 2000-i))))
			}
			c.setDelivered(all...)
			advance(50 * time.Millisecond)
		}
		took := time.Since(began)
		advance(minWriteInterval)
		if n, most := len(c.takeWrites()), int(took.Seconds())+2; n > most {
			t.Errorf("got %d writes in %v for 500,000 findings, want at most %d", n, took, most)
		}
		message := *messageOf(c.node(t, "back"))
		if !strings.Contains(message, "in round 49") || !strings.HasSuffix(message, "; and 9992 more") ||
			len(message) > 32768 {
			t.Errorf("got a message of %d bytes: %.100s ... %s", len(message), message, message[len(message)-50:])
		}
		if got := strings.Split(c.takeEvents(), "\n"); len(got) > int(took.Seconds())+2 {
			t.Errorf("got %d events", len(got))
		}
	})
}

// Messages of sidecars with invalid UTF-8 and any size are sanitized, and written once.
func TestInvalidMessagesAreSanitized(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("back", ""))
		c.run(t)
		advance(minWriteInterval)
		c.takeWrites()
		var all []model.Finding
		for i := range messageCount {
			all = append(all, deliveryFinding("back", fmt.Sprint(i)+strings.Repeat("\xff\x00€", 100_000)))
		}
		c.setDelivered(all...)
		advance(2 * resyncPeriod)
		if n := len(c.takeWrites()); n != 1 {
			t.Errorf("got %d writes, want 1", n)
		}
		if message := *messageOf(c.node(t, "back")); len(message) > 32768 || len(message) < 30000 ||
			!utf8.ValidString(message) {
			t.Errorf("got a message of %d bytes", len(message))
		}
	})
}

const messageCount = 20

func messageOf(vn *api.VirtualNode) *string { return &vn.Status.Conditions[0].Message }
