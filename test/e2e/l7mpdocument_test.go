package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestL7mpDocument applies the templates of the document "The l7mp service mesh": a VirtualService whose rules lead to
// a named Route, to Targets with pods and with a linked VirtualService, through different chains in each direction, and
// to a Service without a VirtualService.
func TestL7mpDocument(t *testing.T) {
	injectDefault(t)
	servers := l7mpServers{
		"worker": {"udp", "0.0.0.0", "9202"}, "inbound": {"udp", "0.0.0.0", "9203"}, "outbound": {"udp", "0.0.0.0", "9204"},
		"naked": {"udp", "0.0.0.0", "9205"},
	}
	apps := fmt.Sprintf(l7mpTemplateApps, "edge", 1, "l7mp") + fmt.Sprintf(l7mpTemplateApps, "worker", 2, "worker")
	for _, name := range []string{"inbound", "outbound", "naked"} {
		apps += fmt.Sprintf(l7mpTemplateApps, name, 1, name)
	}
	apply(t, withServers(t, l7mpTemplates+apps, servers))
	for _, name := range []string{"edge", "worker", "inbound", "outbound", "naked"} {
		waitReady(t, "default", "deployment/"+name)
	}
	for _, object := range []string{"vsvc/edge", "l7mproute/to-workers", "target/workers", "target/flat", "target/linked"} {
		l7mpCondition(t, "default", object, "True Accepted")
	}
	gateway := l7mpPods(t, "default", "edge")[0]
	for _, c := range []struct {
		port, servers int
		answer        string
	}{
		{21000, 2, `^(worker-[^:]+):9202:\d+ hello$`},
		{21100, 2, `^(worker-[^:]+):9202:\d+ hello$`},
		{21200, 2, `^outbound-[^:]+:9204:\d+ (worker-[^:]+):9202:\d+ inbound-[^:]+:9203:\d+ hello$`},
		{21300, 1, `^(naked-[^:]+):9205:\d+ hello$`},
	} {
		answer := regexp.MustCompile(c.answer)
		first := c.port
		eventually(t, 30*time.Second, fmt.Sprintf("answers to the ports from %d", c.port), func() error {
			port := first // sessions of the attempt before may still be there
			first = min(first+8, c.port+90)
			out, err := onNode(t.Context(), "python3", "-c", `
import socket, sys
for port in range(int(sys.argv[2]), int(sys.argv[2]) + 8):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(5)
    client.bind(("", port))
    client.connect((sys.argv[1], 9201))
    client.send(b"hello")
    print(client.recv(1000).decode())`, gateway, fmt.Sprint(port))
			if err != nil {
				return err
			}
			seen := map[string]bool{}
			for line := range strings.Lines(out) {
				parts := answer.FindStringSubmatch(strings.TrimSpace(line))
				if parts == nil {
					return fmt.Errorf("got %q, want %s", line, c.answer)
				}
				seen[parts[1]] = true
			}
			if len(seen) != c.servers {
				return fmt.Errorf("%d servers answer, want %d:\n%s", len(seen), c.servers, out)
			}
			return nil
		})
	}
}

// injectDefault makes the pods of the namespace default with a container l7mp get a proxy, while a test runs.
func injectDefault(t *testing.T) {
	t.Helper()
	run(t, "label", "namespace", "default", "l7mp.io/injection=enabled", "--overwrite")
	t.Cleanup(func() {
		if _, err := kubectl(context.Background(), "label", "namespace", "default", "l7mp.io/injection-"); err != nil {
			t.Error(err)
		}
	})
}
