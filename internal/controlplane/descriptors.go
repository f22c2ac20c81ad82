package controlplane

import (
	"log/slog"
	"math"
	"syscall"
)

const (
	// ownDescriptors are the file descriptors of the process itself: connections to the API server, listeners, files, and
	// connections that are about to be reset.
	ownDescriptors = 256
	// httpServers are signing, webhooks, metrics and the debug server.
	httpServers = 4
)

// http is the number of connections of all HTTP servers; API servers have connections to one of them.
func (l connectionLimits) http() int { return httpServers*(l.total+l.node) + l.servers - l.node }

// scaleLimits returns limits whose connections fit into a number of file descriptors, with a number of discovery
// servers. Without enough of them, discovery is scaled first: it has the most, and the others are needed to start pods.
// If less than half would be left for it, all are scaled.
func scaleLimits(files, drivers int) connectionLimits {
	limits := fullLimits()
	room := files - min(ownDescriptors, files/4)
	http := limits.http()
	if drivers == 0 || room >= http+drivers*limits.discovery {
		return limits
	}
	if left := room - http; left >= room/2 {
		limits.discovery = left / drivers
		return limits
	}
	limits.discovery = room / 2 / drivers
	scale := func(n int) int { return max(1, n*(room-room/2)/http) }
	limits.total, limits.node, limits.servers = scale(limits.total), scale(limits.node), scale(limits.servers)
	limits.perSource = min(limits.perSource, max(1, limits.total/4))
	return limits
}

// descriptorLimits returns the limits for the file descriptors that this process may have. The Go runtime raises the
// soft limit to the hard one. A warning tells that the limits are smaller than documented.
func descriptorLimits(drivers int, log *slog.Logger) connectionLimits {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fullLimits() // no such limit here
	}
	limits := scaleLimits(int(min(files.Cur, math.MaxInt32)), drivers)
	if limits != fullLimits() {
		log.Warn("the limit of open files reduces the limits of connections; raise the hard limit of the container runtime (RLIMIT_NOFILE)",
			"openFiles", files.Cur, "needed", ownDescriptors+fullLimits().http()+drivers*fullLimits().discovery,
			"discovery", limits.discovery, "perServer", limits.total)
	}
	return limits
}
