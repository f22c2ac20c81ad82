package controlplane

import (
	"context"
	"net"
	"time"

	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/delivery/socket"
)

// dialTimeout is how long it may take to reach the API server. What the network swallows is sent again after longer and longer, so a new
// attempt is better soon.
const dialTimeout = 5 * time.Second

// dialDirectly has connections to the API server read and written directly: an event that comes in by a system call of Go's wakes the thread
// that watches for those, and what follows is paid for twice.
func dialDirectly(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return socket.Direct(conn), nil
	}
	return config
}
