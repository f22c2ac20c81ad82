package controlplane

import (
	"context"
	"net"
	"time"

	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/socket"
)

// dialDirectly has connections to the API server read and written directly: an event that comes in by a system call of Go's wakes the thread
// that watches for those, and what follows is paid for twice.
func dialDirectly(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // as client-go does
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
