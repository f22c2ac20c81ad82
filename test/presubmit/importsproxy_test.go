package presubmit

// proxyImports are the rules of the proxy, which imports no package of the mesh.
var proxyImports = []rule{
	{"internal/h2frame", nil},
	{"internal/adminsocket", nil},
	{"internal/xdsclient", nil},
	{"internal/proxy/config", nil},
	{"internal/proxy/http1", nil},
	{"internal/proxy/proxyprotocol", nil},
	{"internal/proxy/rawconn", nil},
	{"internal/proxy/stream", nil},
	{"internal/proxy/tracing", []string{"internal/proxy/config"}},
	{"internal/proxy/metadata", []string{"internal/proxy/config"}},
	{"internal/proxy/accesslog", []string{"internal/proxy/config", "internal/proxy/metadata"}},
	{"internal/proxy/predicate", []string{"internal/proxy/config", "internal/proxy/metadata"}},
	{"internal/proxy/h2", []string{"internal/h2frame", "internal/proxy/http1", "internal/proxy/rawconn"}},
	{"internal/proxy/cluster", []string{"internal/proxy/config", "internal/proxy/h2", "internal/proxy/metadata"}},
	{"internal/proxy/bucket", []string{"internal/proxy/config"}},
	{"internal/proxy/object", []string{
		"internal/proxy/bucket",
		"internal/proxy/cluster", "internal/proxy/config", "internal/proxy/metadata", "internal/proxy/predicate",
	}},
	{"internal/proxy/datagram", []string{"internal/proxy/stream"}},
	{"internal/proxy/session", []string{
		"internal/proxy/cluster", "internal/proxy/config", "internal/proxy/metadata", "internal/proxy/object", "internal/proxy/stream",
	}},
	{"internal/proxy/httpforward", []string{
		"internal/proxy/cluster", "internal/proxy/config", "internal/proxy/h2", "internal/proxy/http1", "internal/proxy/metadata", "internal/proxy/object",
		"internal/proxy/rawconn", "internal/proxy/stream", "internal/proxy/tracing",
	}},
	{"internal/proxy/pseudo", []string{"internal/proxy/config", "internal/proxy/metadata", "internal/proxy/stream"}},
	{"internal/proxy/websocket", []string{"internal/proxy/http1", "internal/proxy/stream"}},
	{"internal/proxy/jsonsocket", []string{"internal/proxy/config", "internal/proxy/metadata", "internal/proxy/stream"}},
	{"internal/proxy/tlsfile", []string{"internal/proxy/config"}},
	{"internal/proxy/connect", []string{
		"internal/proxy/cluster", "internal/proxy/config", "internal/proxy/datagram", "internal/proxy/h2", "internal/proxy/http1",
		"internal/proxy/jsonsocket", "internal/proxy/metadata",
		"internal/proxy/proxyprotocol", "internal/proxy/pseudo", "internal/proxy/stream",
		"internal/proxy/tlsfile", "internal/proxy/websocket",
	}},
	{"internal/proxy/api", []string{"internal/proxy/config"}},
	{"internal/proxy", []string{
		"internal/proxy/accesslog", "internal/proxy/api", "internal/proxy/bucket", "internal/proxy/cluster", "internal/proxy/config", "internal/proxy/connect", "internal/proxy/datagram", "internal/proxy/h2", "internal/proxy/http1", "internal/proxy/httpforward",
		"internal/proxy/jsonsocket", "internal/proxy/metadata", "internal/proxy/object", "internal/proxy/proxyprotocol",
		"internal/proxy/session", "internal/proxy/stream", "internal/proxy/tlsfile", "internal/proxy/tracing", "internal/proxy/websocket",
	}},
	{"internal/proxy/discovery", []string{"internal/adminsocket", "internal/proxy", "internal/proxy/config", "internal/xdsclient"}},
}
