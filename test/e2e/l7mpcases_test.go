package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestL7mpOwners has a Target, a VirtualService and a Service of one name come and go: open connections stay where they
// are, and new ones go to the object that has the name now.
func TestL7mpOwners(t *testing.T) {
	servers := l7mpServers{
		"orders": {"tcp", "0.0.0.0", "9100", "tcp", "0.0.0.0", "9110"},
		"users":  {"tcp", "0.0.0.0", "9200", "tcp", "0.0.0.0", "9250"}, "mail": {"tcp", "0.0.0.0", "9300"},
	}
	applyL7mpCase(t, "web", "owners.yaml", servers)
	gateway, job := l7mpPods(t, "web", "gateway")[0], l7mpPods(t, "web", "job")[0]
	reach := func(address string, port int, server string, at int) {
		t.Helper()
		eventually(t, 20*time.Second, fmt.Sprintf("%s port %d", server, at), func() error {
			out, err := send(t, "tcp", address, port, []byte("hello\n"))
			if err != nil || !strings.HasPrefix(out, server+"-") || !strings.Contains(out, fmt.Sprintf(":%d:", at)) {
				return fmt.Errorf("got %q: %w", out, err)
			}
			return nil
		})
	}
	reach(gateway, 8001, "orders", 9100)
	reach(gateway, 8002, "users", 9200)
	reach(gateway, 8003, "mail", 9300)
	reach(job, 8002, "users", 9200)
	open := startFlows(t, "tcp/"+gateway+"/8001/", "tcp/"+gateway+"/8002/", "tcp/"+job+"/8002/")
	apply(t, l7mpCase(t, "owners-after.yaml", servers))
	run(t, "-n", "web", "delete", "target", "orders")
	reach(gateway, 8001, "orders", 9110)
	reach(gateway, 8002, "users", 9250)
	reach(gateway, 8003, "mail", 9300)
	l7mpCondition(t, "web", "vsvc/job", "Target web/users does not select the pods of web/job")
	eventually(t, 20*time.Second, "the jobs have no cluster", func() error {
		out, err := send(t, "tcp", job, 8002, []byte("hello\n"))
		if err == nil && out != "" {
			return fmt.Errorf("got %q", out)
		}
		return nil
	})
	for _, f := range open.stop(t) {
		if f.Received < f.Sent || len(f.Answers) != 1 || len(f.Errors) > 0 {
			t.Errorf("an open connection does not stay: %+v", f)
		}
		t.Logf("%+v", f)
	}
}

// TestL7mpReferences uses all forms of references in one gateway.
func TestL7mpReferences(t *testing.T) {
	onLoopback(t, "10.1.0.1", "10.1.0.2", "10.1.0.3")
	var servers []string
	for i, port := range []string{"9000", "9001", "9002"} {
		servers = append(servers, "tcp", fmt.Sprintf("10.1.0.%d", i+1), port)
	}
	startServers(t, servers...)
	apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: other}}")
	applyL7mpCase(t, "web", "references.yaml", nil)
	gateway := l7mpPods(t, "web", "gateway")[0]
	for port := 7001; port <= 7009; port++ {
		want := ":9000:"
		switch {
		case port == 7006:
			want = ":9002:"
		case port > 7006:
			want = ""
		}
		eventually(t, 20*time.Second, fmt.Sprintf("port %d leads to %q", port, want), func() error {
			out, err := send(t, "tcp", gateway, port, []byte("hello\n"))
			if want == "" && out == "" {
				return nil
			}
			if err != nil || !strings.Contains(out, want) {
				return fmt.Errorf("got %q: %w", out, err)
			}
			return nil
		})
	}
	for name, text := range map[string]string{
		"in-7007": "there is no Target web/gone", "in-7008": "/apis/l7mp.io/v1/namespaces/web/virtualservices/in-7001",
		"in-7009": "there is no Target, no VirtualService and no Service web/audit", "in-7004": "True Accepted",
	} {
		l7mpCondition(t, "web", "vsvc/"+name, text)
	}
}

// TestL7mpPorts has VirtualServices with ports that clash, and some that only look so.
func TestL7mpPorts(t *testing.T) {
	applyL7mpCase(t, "edge", "ports.yaml", nil)
	gateway, device := l7mpPods(t, "edge", "gateway")[0], l7mpPods(t, "edge", "device")[0]
	answers(t, "udp", gateway, 5000, "hello")
	answers(t, "tcp", gateway, 6000, "hello")
	answers(t, "udp", gateway, 6000, "hello")
	answers(t, "udp", device, 5000, "hello")
	answers(t, "tcp", gateway, 1234, "hello")
	out := run(t, "-n", "edge", "get", "vsvc", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {range .status.conditions[*]}{.reason} {.message}{end}{"\n"}{end}`)
	for _, name := range []string{"udp-second", "ws-7000", "udp-7100", "api-port"} {
		if !strings.Contains(out, name+" PortConflict") {
			t.Errorf("%s has no conflict", name)
		}
	}
	if table := run(t, "-n", "edge", "get", "vsvc"); strings.Count(table, "PortConflict") != 4 {
		t.Errorf("the table does not show the conflicts:\n%s", table)
	}
	if n := strings.Count(out, "PortConflict"); n != 4 {
		t.Errorf("%d conflicts, want 4:\n%s", n, out)
	}
	upgrade := "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	post := "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
	for _, step := range []struct{ delete, request, want string }{
		{"", post, "HTTP/1.1 200"}, {"vsvc/http-7000", upgrade, "HTTP/1.1 101"},
	} {
		if step.delete != "" {
			run(t, "-n", "edge", "delete", step.delete)
		}
		eventually(t, 20*time.Second, step.want, func() error {
			out, err := send(t, "tcp", gateway, 7000, []byte(step.request))
			if err != nil || !strings.HasPrefix(out, step.want) {
				return fmt.Errorf("got %q: %w", out, err)
			}
			return nil
		})
	}
	l7mpCondition(t, "edge", "vsvc/ws-7000", "True Accepted")
	run(t, "-n", "edge", "delete", "vsvc/udp-first")
	l7mpCondition(t, "edge", "vsvc/udp-second", "True Accepted")
	answers(t, "udp", gateway, 5000, "hello")
}
