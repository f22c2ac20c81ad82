package delivery_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"anymesh.dev/anymesh/model"
)

// awaitHost receives until a cluster has a host name.
func (c *deltaClient) awaitHost(t *testing.T, host string) {
	t.Helper()
	for {
		r := receive(t, c)
		ack := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}
		if err := c.Send(ack); err != nil {
			t.Fatal(err)
		}
		for _, one := range r.GetResources() {
			got := &clusterv3.Cluster{}
			if err := one.GetResource().UnmarshalTo(got); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got.String(), host) {
				return
			}
		}
	}
}

// Objects change, clients of several workloads with one outbound view connect and leave, and the resources of workloads
// without clients are dropped, all at the same time. Each client receives the current configuration in the end: also
// the first one, whose resources are rendered while a change is delivered.
func TestConnectDuringChanges(t *testing.T) {
	const workloads, iterations = 3, 300
	documents := strings.Split(shop, "\n---\n")
	text := shop
	var keys []model.Key
	for i := range workloads {
		name := fmt.Sprint("front", i)
		text += "\n---\n" + strings.ReplaceAll(documents[1], "front", name)
		keys = append(keys, model.Key{Mesh: "m", Name: name + "_a"})
	}
	f, conn := newClientFixture(t)
	f.applyYAML(t, text)
	for i := range iterations {
		host := fmt.Sprintf("h%d.example", i)
		back := strings.NewReplacer("back.example", host, "port: 80", fmt.Sprint("port: ", 80+i/2%2)).Replace(documents[2])
		changed := objects(t, back)[0]
		tasks := []func(){func() {
			f.engine.Set(changed)
			f.engine.Sync()
		}}
		clients := make([]*deltaClient, workloads)
		for w, key := range keys {
			tasks = append(tasks, func() { clients[w] = open(t, conn, key, fmt.Sprint(w, i), nil) },
				func() { f.DropUnused(key) })
		}
		rand.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		var all sync.WaitGroup
		for _, task := range tasks {
			all.Go(task)
		}
		all.Wait()
		for _, c := range clients {
			c.awaitHost(t, host)
			c.close()
		}
	}
	fresh, freshConn := newClientFixture(t)
	fresh.apply(f.objects())
	for _, key := range keys {
		eventually(t, "all streams are closed", func() bool { return !f.publisher.HasClients(key.String()) })
		f.DropUnused(key)
		got, want := open(t, conn, key, "last", nil), open(t, freshConn, key, "last", nil)
		got.next(t)
		want.next(t)
		if !maps.Equal(got.versions, want.versions) {
			t.Errorf("%s received %v, from a new control plane %v", key, got.versions, want.versions)
		}
	}
}
