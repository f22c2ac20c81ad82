package finalizers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// The finding about an object that waits lists its members, and changes with them.
func TestFindingListsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mesh(false, meshMembers)
		n1, n2 := node("n1", m, false), node("n2", m, false)
		c := newCluster(t, m, n1, n2)
		c.run(t)
		if found := c.Findings(); len(found) != 0 || c.signals != 0 {
			t.Errorf("before the deletion: %d signals, findings %v", c.signals, found)
		}
		for i, want := range []string{"VirtualNode a/n1, VirtualNode a/n2", "VirtualNode a/n2", ""} {
			before := c.signals
			c.delete(t, []client.Object{m, n1, n2}[i])
			if c.signals == before {
				t.Errorf("step %d: no signal", i)
			}
			var texts []string
			for _, f := range c.Findings() {
				texts = append(texts, f.String())
			}
			if want != "" {
				want = "Warning PendingMembersDeletion Mesh m: waits until its members are deleted: " + want
			}
			if got := strings.Join(texts, "\n"); got != want {
				t.Errorf("step %d: got findings %q, want %q", i, got, want)
			}
		}
	})
}

// Objects without their finalizer get it at a limited rate. One that loses it gets it again.
func TestExistingObjectsGetFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = additionBurst + 3*additionsPerSecond
		var all []client.Object
		for i := range count {
			g := &api.VirtualGateway{ObjectMeta: meta(fmt.Sprintf("g%d", i), false, foreign)}
			all = append(all, g)
		}
		c := newCluster(t, append(all, node("n", mesh(false), false))...)
		finalized := func() (n int) {
			for _, o := range all {
				c.sync(t, o)
				now := o.DeepCopyObject().(client.Object)
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
					t.Fatal(err)
				}
				if slices.Equal(now.GetFinalizers(), []string{foreign, gatewayMembers}) {
					n++
				}
			}
			return n
		}
		c.run(t)
		for _, want := range []int{additionBurst, additionBurst + 2*additionsPerSecond, count, count} {
			if got := finalized(); got < want-1 || got > want+1 {
				t.Errorf("%d objects have the finalizer, want about %d", got, want)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		if reads := c.readCount(); reads != count {
			t.Errorf("%d reads for %d objects", reads, count)
		}
		lost := all[0].DeepCopyObject().(client.Object)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(lost), lost); err != nil {
			t.Fatal(err)
		}
		lost.SetFinalizers([]string{foreign})
		if err := c.Update(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		c.sync(t, lost)
		synctest.Wait()
		if got := finalized(); got != count || len(c.turns) != 0 {
			t.Errorf("one object lost its finalizer: %d objects have it, %d are delayed", got, len(c.turns))
		}
	})
}

// A VirtualGateway in a Namespace that is being deleted does not wait for GatewayRoutes of other Namespaces,
// whatever is deleted first.
func TestNamespaceDeletionDoesNotWaitForOthers(t *testing.T) {
	for _, namespaceFirst := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			namespace := &corev1.Namespace{}
			namespace.Name, namespace.Finalizers = "a", []string{"kubernetes"}
			gateway := &api.VirtualGateway{ObjectMeta: meta("g", false, gatewayMembers)}
			route := func(namespace string) *api.GatewayRoute {
				r := &api.GatewayRoute{ObjectMeta: meta("r in "+namespace, false)}
				r.Namespace = namespace
				r.Spec.VirtualGatewayRef = &api.VirtualGatewayReference{Name: "g", UID: gateway.UID}
				return r
			}
			own, foreigner := route("a"), route("b")
			c := newCluster(t, namespace, gateway, own, foreigner)
			c.run(t)
			if namespaceFirst {
				c.delete(t, namespace)
			}
			if c.delete(t, gateway) {
				t.Fatal("the VirtualGateway is deleted before the GatewayRoute of its Namespace")
			}
			synctest.Wait() // only the changes below release it
			if !namespaceFirst {
				c.delete(t, own)
				if c.sync(t, gateway) {
					t.Fatal("the VirtualGateway is deleted before the GatewayRoute of another Namespace")
				}
				c.delete(t, namespace)
			} else {
				c.delete(t, own)
			}
			if !c.sync(t, gateway) || len(c.Findings()) != 0 {
				t.Errorf("the VirtualGateway is not deleted: %v", c.Findings())
			}
		})
	}
}
