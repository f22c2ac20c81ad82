package controlplane

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/freeport"
)

// connecting is a driver that connects to proxies.
type connecting struct {
	poller
	leading chan context.Context
}

func (connecting) Supports() map[model.Feature]bool {
	out := map[model.Feature]bool{}
	for _, f := range model.AllFeatures() {
		out[f] = true
	}
	return out
}

func (c connecting) Start(ctx context.Context) (sidecar.Probes, error) {
	of := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	of.Proxies = func() []sidecar.Proxy {
		return []sidecar.Proxy{
			{Pod: model.Instance{UID: "1"}, Listeners: 2, Clusters: 3, Synced: true},
			{Pod: model.Instance{UID: "2"}, Error: "it does not answer"},
		}
	}
	of.Lead(func(ctx context.Context) {
		at := model.NewOrigin(model.ObjectRef{Group: "appmesh.k8s.aws", Kind: "VirtualNode", Namespace: "a", Name: "front"})
		of.Report("a/pod", []model.Finding{model.NewFinding(at, model.CodeRejected, "it says no")})
		c.leading <- ctx
		<-ctx.Done()
	})
	return sidecar.HealthProbes{}, nil
}

var outside = connecting{polling, make(chan context.Context, 2)}

func init() { sidecar.Register("outside", outside) }

// A driver of pods without an agent runs on the leader, and what it reports is in the status of the object.
func TestDriverOfPodsWithoutAgent(t *testing.T) {
	k := newPopulatedAPI(t, "front")
	process := newAPIProcess(t, k)
	process.run()
	_, port, err := net.SplitHostPort(freeport.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	r := startReplicaWith(t, "a", process.address, func(cp *controlPlane) {
		cp.addDriver(t, "outside", port)
		cp.dialects, err = dialect.Configured(dialect.Settings{
			Values:         map[string]json.RawMessage{"l7mp": json.RawMessage(`{"restAPI": true}`)},
			SidecarClasses: []string{"envoy", "outside"},
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	leading := <-outside.leading
	if leading.Err() != nil {
		t.Error("the driver runs with a context that has ended")
	}
	r.eventually("the finding is in the status", func() bool {
		return condition(k.getObject(t, workload("front"))) == string(corev1.ConditionFalse)
	})
	for i, want := range []struct {
		refused   bool
		listeners int
	}{{false, 2}, {true, 0}} {
		clients := slices.DeleteFunc(r.clients(), func(c driverClient) bool { return c.Driver != "outside" })
		if len(clients) != 2 {
			t.Fatalf("got clients %+v", clients)
		}
		if of := clients[i].Types[1]; (of.LastNack != nil) != want.refused ||
			(of.AckedVersion != of.SentVersion) != want.refused || of.Resources != want.listeners {
			t.Errorf("got %+v, want %+v", of, want)
		}
	}
}
