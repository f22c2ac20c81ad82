// Package observe sends requests through real sidecars, and compares what happens with what the interpreter decides.
// The requests are those of a case of test/cases, or all that the view of a workload tells apart. Each case tests one
// behavior with the dialect, the interpreter, the driver and the sidecar.
//
// In: a case, which is a txtar file with user objects and requests. Out: the differences between:
//
//	settings.yaml → settings of the dialects, in the form of the chart's values; optional
//	objects.yaml  → dialect              → model.yaml, findings.txt
//	              → view → driver envoy  → envoy/<workload>.yaml (where the case asks for it)
//	requests.txt  → interpreter          → the decisions after each "=>"
//	              → the real sidecar     → the same decisions, observed from outside
//
// The last part runs in a separate pod (network, mount and process namespaces): packets are captured as in
// Kubernetes, the program runs as the sidecar's user with the configuration that the driver rendered, delivered by the
// discovery server. A second network namespace is the external network, which responds on every address of
// 198.18.0.0/15.
//
// Syntax of a request:
//
//	from front: GET http://color.ns:8080/api?x=1 name:value => color-red_ns_http_8080 3, color-blue_ns_http_8080 1
//
// "from" is a request that the workload sends, "into" a request that the workload receives. "into front tls" is one
// with TLS, and "into front tls /mnt/a/client.pem" one with a client certificate. Each certificate that a case names is
// below /mnt. It has the name of its file, and the authority of its folder, whose certificate is ca.pem. In place of a
// file there may be a SPIFFE ID: it is the name in the certificate, and the authority is that of its trust domain.
// Secrets that are not of the mesh are served on the socket /mnt/agent.sock, without those that end with /unknown.
//
// "from front unhealthy color-red_ns_http_8080" is a request while the endpoints of a destination fail its health check;
// they fail it for all requests of the workload. "into front open 2" and "from front open 2" are requests while two others
// on the same port have no response yet. "into front exhausted" is a request after those that the rate limits allow: the lines before it.
//
// In place of GET there may be "http2 GET", or "grpc", "tcp" and "tls" without a method. The client connects to the host
// of the URL; a header "Host" overrides the host header. After the headers, "(503 reset 2s 200)" is the response of the
// destination to the first, second, ... try: a status, a broken connection, or 200 after a delay; the last one is
// repeated for further tries. "200+1s+2s" is a response whose headers are sent immediately, a part of the body after 1 s, and the last
// part 2 s later; "1s+2s" delays the headers as well. A "tcp" server always greets the client immediately.
//
// Each workload also gets requests that no file has: those that its view tells apart (package model/requests), as far
// as a client of the pod can send them. They must end as the interpreter decides. ANYMESH_CONFORMANCE_DERIVED is
// their number.
//
// "check edge: 8080 => passes" and "=> fails" are the result of the health check that a gateway makes of its listener on a
// port.
//
// In DNS, the host of a "tls" line has another address than the one that the client connects to. Both are in the external
// network. A host that begins with "unresolved." has none.
//
// A line that ends with "# not envoy-1.36: reason" is not observed with that version of Envoy.
//
// After "=>" follow, separated by semicolons: the destinations and their weights, "application", "passthrough" (to the
// original destination), "resolved" (to the address of the TLS server name), "404" and "400" (local responses; UNIMPLEMENTED and INTERNAL for gRPC), "not-http" (400 to
// what is not HTTP), "unhealthy" and "overflow" (503, UNAVAILABLE or closed without a byte) or "refused" (closed
// without a byte); "path /x" and "host name" if the sidecar changes them; and optional facts: "route name", "pod ADDRESS", "3 tries",
// "response 200", "timeout 2s", "idle 1m0s". A response is a status, or "broken" if it ends early; for a "tcp" server
// it is "complete" or "broken". A response may take longer than specified, but never less. "log TEXT" is the entry in
// the access log: if a line of a workload has one, these are all entries of its file; <NAME> in it is the name of the
// cluster of a destination.
package observe

//go:generate go test -run TestEachFeatureIsShown . -update
