package controlplane

import (
	"time"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/sidecar"
)

// clientOf returns a proxy that a driver connects to as if it were a client.
func clientOf(p sidecar.Proxy) xds.Client {
	out := xds.Client{
		Key: p.Workload.String(), Identity: p.Pod.UID, Address: p.Address, Connected: p.Since,
	}
	for _, of := range []struct {
		name  string
		count int
	}{{"Cluster", p.Clusters}, {"Listener", p.Listeners}} {
		t := xds.ClientType{TypeURL: "anymesh.dev/proxy." + of.name, Resources: of.count, SentVersion: "1"}
		switch {
		case p.Error != "":
			t.LastNack = &xds.Nack{Time: time.Now(), Names: []string{"its configuration"}, Message: p.Error}
		case p.Synced:
			t.AckedVersion = t.SentVersion
		}
		out.Types = append(out.Types, t)
	}
	return out
}
