package capture

import (
	"net"
	"testing"
)

// The packet rules of Open Service Mesh, in their order: all ports are captured, but for exclusions, and for what goes
// to the application on loopback addresses.
func TestAllPorts(t *testing.T) {
	pod, outside := newPodNetns(t)
	pod.serve("tcp4", ":15020", func(*net.TCPConn) string { return "metrics" })
	pod.apply(map[string]string{
		EnvAppPorts: "*", EnvOpenPorts: "8081,15020", EnvIgnoredPorts: "5432", EnvIgnoredIPs: "10.9.0.0/16",
	})
	for _, c := range []struct{ what, got, want string }{
		{"inbound", outside.dial("10.0.0.1:8080"), "ingress for 10.0.0.1:8080"},
		{"inbound, a port without a server", outside.dial("10.0.0.1:1"), "ingress for 10.0.0.1:1"},
		{"inbound, an excluded port", outside.dial("10.0.0.1:8081"), "app"},
		{"inbound, metrics", outside.dial("10.0.0.1:15020"), "metrics"},
		{"the proxy, to a Service of its pod", pod.dialAs(1337, 1337, "10.0.0.1:8080"), "ingress for 10.0.0.1:8080"},
		{"the proxy, to an excluded port of its pod", pod.dialAs(1337, 1337, "10.0.0.1:8081"), "app"},
		{"the proxy, to the application", pod.dialAs(1337, 1337, "127.0.0.1:8080"), "app"},
		{"the proxy, to another pod", pod.dialAs(1337, 1337, "10.0.0.2:7000"), "outside"},
		{"the application, to itself", pod.dial("127.0.0.1:8080"), "app"},
		{"the application, to the address of its pod", pod.dial("10.0.0.1:8080"), "app"},
		{"outbound", pod.dial("10.0.0.2:7000"), "egress for 10.0.0.2:7000"},
		{"outbound, an excluded range", pod.dial("10.9.0.1:7000"), "outside"},
		{"outbound, an excluded port", pod.dial("10.0.0.2:5432"), "outside"},
	} {
		expect(t, c.what, c.got, c.want)
	}
}
