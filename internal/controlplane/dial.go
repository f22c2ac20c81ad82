package controlplane

import (
	"context"
	"net"
	"time"

	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/delivery/socket"
)

// dialTimeout bounds connection attempts to the API server. TCP retransmits lost packets with growing delays, so a new
// attempt is faster.
const dialTimeout = 5 * time.Second

// dialDirectly makes connections to the API server use direct reads and writes, which bypass Go's network poller. The
// poller costs an additional thread wakeup for each watch event.
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
