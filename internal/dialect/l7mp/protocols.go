package l7mp

import (
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// Protocol is a protocol of listeners and clusters.
type Protocol struct {
	Name string
	// Listener is false for a protocol that the proxy itself serves: it is of clusters only.
	Listener bool
	// Honored and Ignored are its parameters, with an effect and with a finding.
	Honored, Ignored []string

	model model.Protocol
}

// protocols are the protocols that are served.
var protocols = []Protocol{
	{Name: "HTTP", model: model.HTTP, Honored: []string{"port"}, Ignored: []string{"path", "bind"}},
	{Name: "WebSocket", model: model.WebSocket, Honored: []string{"port"}, Ignored: []string{"path", "bind"}},
	{Name: "TCP", model: model.TCP, Honored: []string{"port"}, Ignored: []string{"bind", "address"}},
	{Name: "UDP", model: model.UDP, Honored: []string{"port", "connect"}, Ignored: []string{"address", "bind", "options"}},
	{Name: "UnixDomainSocket", model: model.Unix, Honored: []string{"filename"}},
	{Name: "JSONSocket", model: model.JSONSocket, Honored: []string{"transport", "transport_spec", "header"}},
	{Name: "Echo", model: model.Echo},
	{Name: "Discard", model: model.Discard},
	{Name: "Logger", model: model.Logger, Honored: []string{"log_file", "log_prefix"}},
	{Name: "JSONEncap", model: model.JSONEncap},
	{Name: "JSONDecap", model: model.JSONDecap},
	{Name: "Sync", model: model.Sync, Honored: []string{"query"}},
	{Name: "Prometheus", model: model.Prometheus},
	// The proxy counts the bytes of each cluster, under its own names.
	{Name: "Metric", model: model.Echo, Ignored: []string{"byteCounterName", "packetCounterName"}},
}

// notServed are protocols without a meaning for proxies in pods, with the reason. Sdtio is the spelling of the released
// schema.
var notServed = map[string]string{
	"stdio": noTerminal, "sdtio": noTerminal,
	"l7mpcontroller": "the configuration comes from objects, and the proxy has no API",
}

const noTerminal = "the proxy of a pod has no terminal"

// Protocols lists the protocols that are served.
func Protocols() []Protocol {
	out := slices.Clone(protocols)
	for i := range out {
		out[i].Listener = !out[i].model.Local()
	}
	return out
}

// protocolOf returns the protocol with a name, in any case.
func protocolOf(name string) (Protocol, bool) {
	i := slices.IndexFunc(protocols, func(p Protocol) bool { return strings.EqualFold(p.Name, name) })
	if i < 0 {
		return Protocol{}, false
	}
	return protocols[i], true
}
