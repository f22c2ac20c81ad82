// Package conformance runs the cases of test/cases. Each case tests one behavior with the dialect, the interpreter, the
// driver and Envoy.
//
// In: a case, which is a txtar file with user objects and requests. Out: the differences between:
//
//	objects.yaml  → dialect              → model.yaml, findings.txt
//	              → view → Envoy driver  → envoy/<workload>.yaml (where the case asks for it)
//	requests.txt  → interpreter          → the decisions after each "=>"
//	              → the real Envoy       → the same decisions, observed from outside
//
// The last part runs in a pod of its own (network, mount and process namespaces): packets are captured as in
// Kubernetes, Envoy runs as the sidecar's user with the configuration that the driver rendered, delivered by the
// discovery server. A second network namespace is the external network, which responds on every address of
// 198.18.0.0/15.
//
// Syntax of a request:
//
//	from front: GET http://color.ns:8080/api?x=1 name:value => color-red_ns_http_8080 3, color-blue_ns_http_8080 1
//
// "from" is a request that the workload sends, "into" a request that the workload receives. In place of GET there may
// be "http2 GET", or "grpc", "tcp" and "tls" without a method. The client connects to the host of the URL; a header
// "Host" overrides the host header. After the headers, "(503 reset 2s 200)" is the response of the destination to the
// first, second, ... try: a status, a broken connection, or 200 after some time; the last one is repeated for further
// tries. "200+1s+2s" is an answer that begins at once and has a piece a second later, and its last one two seconds
// after that; "1s+2s" begins late, too. A "tcp" server greets the client at once, whatever the answer is.
//
// Behind "=>" come, separated by semicolons: destinations and their weights, "application", "passed" (to where it was
// going), "404" and "400" (the sidecar's own; UNIMPLEMENTED and INTERNAL for gRPC) or "refused" (closed without a
// byte); "as /path" and "host name" if the request leaves with others; and what else the case is about: "route name",
// "3 tries", "answer 200", "timeout 2s", "idle 1m0s". An answer is a status, or "broken" if it began and broke off;
// that of a "tcp" server is "whole" or "broken". It may take longer than it must, but never less.
package conformance
