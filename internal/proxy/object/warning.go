package object

import (
	"fmt"
	"slices"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// warning tells that the clusters of a route do not keep the boundaries of messages that others of them have; empty if
// they do. What the listener has is not known here: its sessions have a warning of their own.
func (r *Route) warning() string {
	var bytes, messages string
	for _, slot := range slices.Concat(r.destinations(), r.Ingress, r.Egress) {
		c := slot.Get()
		switch {
		case c == nil:
		case keepsNoMessages(&c.Spec):
			bytes = c.Name
		case !c.Spec.Protocol.Pseudo() || c.Spec.Protocol == config.JSONEncap: // the others pass what comes
			messages = c.Name
		}
	}
	if bytes == "" || messages == "" {
		return ""
	}
	return fmt.Sprintf("messages of cluster %q lose their boundaries in cluster %q, which has a stream of bytes", messages, bytes)
}

func keepsNoMessages(spec *config.ClusterSpec) bool {
	switch spec.Protocol {
	case config.TCP, config.HTTP, config.Stdio:
		return true
	case config.UnixDomainSocket:
		return spec.Type == "" || spec.Type == "stream"
	case config.JSONSocket:
		return keepsNoMessages(spec.Transport)
	}
	return false
}
