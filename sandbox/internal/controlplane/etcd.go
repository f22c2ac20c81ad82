package controlplane

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd runs a one-member etcd with its data in dir, on the loopback interface of the node network namespace. It
// returns the client URL when the member serves requests.
func startEtcd(ctx context.Context, dir string) (*embed.Etcd, string, error) {
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(dir, "etcd")
	cfg.LogLevel = "error"
	// The data is in memory and removed with the lab, so fsync has no benefit.
	cfg.UnsafeNoFsync = true
	cfg.MaxSnapFiles, cfg.MaxWalFiles = 1, 1
	cfg.QuotaBackendBytes = 512 << 20
	// A single member elects itself after one election timeout.
	cfg.TickMs, cfg.ElectionMs = 10, 100
	client := url.URL{Scheme: "http", Host: "127.0.0.1:2379"}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:2380"}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, client.String(), nil
	case err := <-e.Err():
		return nil, "", fmt.Errorf("etcd: %w", err)
	case <-ctx.Done():
		e.Close()
		return nil, "", context.Cause(ctx)
	}
}
