package docs

import (
	"fmt"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/controlplane"
	"anymesh.dev/anymesh/internal/pod/agent"
	"anymesh.dev/anymesh/internal/serverlimit"
)

// knownSources describes connlimit.MaxSources.
const knownSources = "Addresses whose rate is known; a constant of package `connlimit`. With a further one, the least recently used is forgotten, and has its burst again. " +
	"That is not counted; the limit of all addresses applies."

// connectionLimits writes the limits of HTTP servers of the control plane, and then of the agent.
func connectionLimits(table func(title, text string), row func(name, value, text, metric string)) {
	table("Connections", "Limits of connections, and of the headers of requests, before anybody is authenticated. Loopback and the node of the pod, from which kubelet "+
		"probes, have connections of their own. If the process may not have as many files open (`RLIMIT_NOFILE`), it uses smaller limits, and logs a warning. A connection without a request is closed after 2 minutes, that to an agent after a minute, which is not counted. The names are constants of packages `controlplane`, `serverlimit` and `agent`.")
	reset := func(reason string) string { return `anymesh_http_refused_connections_total{reason="` + reason + `"}` }
	row("MaxConnectionsPerSource", fmt.Sprint(controlplane.MaxConnectionsPerSource),
		"Connections of one address to one HTTP server of the control plane: signing, webhooks, metrics. A further one is reset.", reset("source_connections"))
	row("MaxConnectionsPerSecond", fmt.Sprint(controlplane.MaxConnectionsPerSecond),
		"Average number of new connections of one address per second. A further one is reset.", reset("source_rate"))
	row("MaxConnectionBurst", fmt.Sprint(controlplane.MaxConnectionBurst), "New connections beyond the average.", reset("source_rate"))
	row("MaxConnections", fmt.Sprint(controlplane.MaxConnections), "Such connections of all addresses.", reset("total_connections"))
	row("MaxNodeConnections", fmt.Sprint(controlplane.MaxNodeConnections), "Such connections of the node of the pod.", reset("total_connections"))
	row("MaxServerConnections", fmt.Sprint(controlplane.MaxServerConnections),
		"Connections of API servers, and of the node, to the webhooks.", reset("total_connections"))
	row("MaxSources", fmt.Sprint(connlimit.MaxSources), knownSources, reset("total_connections"))
	row("HandshakeTimeout", controlplane.HandshakeTimeout.String(), "Time of the TLS handshake with such a server. Then the connection is closed. "+
		"Handshakes that fail are counted in `anymesh_http_connection_errors_total`, with other errors of connections.", reset(string(serverlimit.Handshake)))
	row("MaxHeaderBytes", fmt.Sprintf("%d KiB", controlplane.MaxHeaderBytes>>10),
		"Length of the header of a request to such a server. A longer one gets status 431, or its connection is closed.", reset("header_size"))
	row("ReadHeaderTimeout", controlplane.ReadHeaderTimeout.String(),
		"Time in which the header of a request arrives, with HTTP/1. Then the connection is closed. It is not counted if nothing arrived.", reset("header_timeout"))
	row("WriteTimeout", controlplane.WriteTimeout.String(), "Time from the header of a request until the client has read the response. Then the connection is closed; with HTTP/2 the stream, "+
		"or the connection if the client reads nothing at all.", reset(string(serverlimit.Unread)))
	row("MaxConcurrentStreams", fmt.Sprint(serverlimit.MaxConcurrentStreams),
		"Open streams of one connection with HTTP/2. Clients wait, or open another connection. A further stream is reset.", reset(string(serverlimit.Streams)))
	row("MaxReadFrameSize", fmt.Sprintf("%d KiB", serverlimit.MaxReadFrameSize>>10),
		"Length of a frame of HTTP/2. Clients split what is longer. After a longer frame, or a malformed one, the connection is closed.", reset(string(serverlimit.Frame)))
	agentLimits(row)
}

// agentLimits writes the limits of the HTTP server of the agent, which every pod reaches.
func agentLimits(row func(name, value, text, metric string)) {
	refused := func(reason string) string { return `anymesh_agent_refused_total{reason="` + reason + `"}` }
	row("MaxConnectionsPerSource", fmt.Sprint(agent.MaxConnectionsPerSource),
		"Connections of one address to the agent of a pod. A further one is reset.", refused("source_connections"))
	row("MaxConnectionsPerSecond", fmt.Sprint(agent.MaxConnectionsPerSecond),
		"Average number of new connections of one address per second. A further one is reset.", refused("source_rate"))
	row("MaxConnectionBurst", fmt.Sprint(agent.MaxConnectionBurst), "New connections beyond the average.", refused("source_rate"))
	row("MaxConnections", fmt.Sprint(agent.MaxConnections), "Such connections of all addresses.", refused("total_connections"))
	row("MaxNodeConnections", fmt.Sprint(agent.MaxNodeConnections), "Such connections of the node of the pod.", refused("total_connections"))
	row("MaxSources", fmt.Sprint(connlimit.MaxSources), knownSources, refused("total_connections"))
	row("MaxScrapesPerSource", fmt.Sprint(agent.MaxScrapesPerSource), "Concurrent requests for the metrics of a pod from one address. A further one gets status 429.", refused("scrapes"))
	row("MaxScrapes", fmt.Sprint(agent.MaxScrapes), "Such requests of all addresses.", refused("scrapes"))
	row("MaxHeaderBytes", fmt.Sprintf("%d KiB", agent.MaxHeaderBytes>>10), "Length of the header of a request to the agent. A longer one gets status 431.", refused("header_size"))
	row("ReadHeaderTimeout", agent.ReadHeaderTimeout.String(), "Time in which the header of a request arrives. Then the connection is closed. It is not counted if nothing arrived.", refused("header_timeout"))
	row("MaxReadyWait", agent.MaxReadyWait.String(), "How long `/ready?wait=DURATION` waits for the proxy. Then it gets status 503.", refused("ready_wait"))
	row("WriteTimeout", agent.WriteTimeout.String(), "Time in which a client of the agent reads a response. Then the connection is closed.", refused("slow_client"))
}
