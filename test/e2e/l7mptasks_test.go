package e2e

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestL7mpTasks applies the tasks of l7mp's documentation as published: a chain from UDP over WebSocket to a unix
// socket and on to UDP, DNS servers of which one is deleted, the DNS of the cluster, and calls of the media plane.
func TestL7mpTasks(t *testing.T) {
	injectDefault(t)
	const calls = 4
	media := l7mpMedia
	for i := range 2 * calls {
		media += fmt.Sprintf(l7mpLeg, 8001+i, i/2)
	}
	apply(t, l7mpApps)
	apply(t, l7mpTasks+media+"---"+l7mpDNS)
	for _, name := range []string{"l7mp-ingress", "transcoder", "worker", "dns", "media"} {
		waitReady(t, "default", "deployment/"+name)
	}
	gateways := strings.Fields(run(t, "get", "pods", "-n", "default", "-l", "app=l7mp-ingress", "-o",
		"jsonpath={.items[*].status.podIP}"))
	gateway := gateways[0]
	eventually(t, 20*time.Second, "an answer of a transcoder and a worker", func() error {
		out, err := send(t, "udp", gateway, 9001, []byte("This is a test!"))
		if err != nil || !strings.HasPrefix(out, "Echo on worker-") ||
			!strings.Contains(out, ": Transcoded on transcoder-") || !strings.HasSuffix(out, ": This is a test!") {
			return fmt.Errorf("got %q: %w", out, err)
		}
		return nil
	})
	// host.example.com, type A
	query, err := hex.DecodeString("abcd01000001000000000000" + "04686f7374076578616d706c6503636f6d00" + "00010001")
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		out, err := send(t, "udp", gateway, 5000, query)
		if err != nil || !strings.HasSuffix(out, "\xc0\xa8\x01\x03") {
			return fmt.Errorf("got %x: %w", out, err)
		}
		return nil
	}
	eventually(t, 20*time.Second, "an answer of a DNS server", ask)
	pod := run(t, "get", "pods", "-n", "default", "-l", "app=dns", "-o", "jsonpath={.items[0].metadata.name}")
	run(t, "delete", "pod", "-n", "default", pod)
	waitReady(t, "default", "deployment/dns")
	failed := 0
	for range 10 {
		if err := ask(); err != nil {
			failed++
			t.Log(err)
		}
	}
	if failed > 2 {
		t.Errorf("%d of 10 queries have no answer after a server was deleted", failed)
	}
	askCluster(t, gateway)
	meet(t, gateways, calls)
	wantOutput(t, []string{"default/websocket-cluster", "default/udp-cluster"}, "explain", "--from",
		"default/l7mp-ingress", "udp://0.0.0.0:9001")
}

// askCluster asks the DNS of the cluster through a gateway, which counts the packets.
func askCluster(t *testing.T, gateway string) {
	t.Helper()
	address, err := netip.ParseAddr(run(t, "get", "service", "-n", "default", "kubernetes", "-o", "jsonpath={.spec.clusterIP}"))
	if err != nil {
		t.Fatal(err)
	}
	// kubernetes.default.svc.cluster.local, type A
	query, err := hex.DecodeString("abcd01000001000000000000" + "0a6b756265726e65746573" + "0764656661756c74" + "03737663" +
		"07636c7573746572" + "056c6f63616c00" + "00010001")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "an answer of the DNS of the cluster", func() error {
		out, err := send(t, "udp", gateway, 5053, query)
		if err != nil || !strings.Contains(out, string(address.AsSlice())) {
			return fmt.Errorf("got %x: %w", out, err)
		}
		return nil
	})
	metrics := mustOnNode(t, "curl", "-s", fmt.Sprintf("http://%s:9901/metrics", gateway))
	if !regexp.MustCompile(`(?m)^listener_requests_total\{[^}]*5053[^}]*\} [1-9]`).MatchString(metrics) {
		t.Errorf("the metrics of the gateway do not count the queries:\n%s", metrics)
	}
}

// meet has phones talk: the legs of each call come in at different gateways, and hear each other.
func meet(t *testing.T, gateways []string, calls int) {
	t.Helper()
	eventually(t, 30*time.Second, "the legs of all calls hear each other", func() error {
		_, err := onNode(t.Context(), "python3", "-c", `
import socket, sys, time
one, two, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
phones = []
for i in range(2 * calls):
    phone = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    phone.settimeout(0.05)
    phone.connect(((one, two)[i % 2], 8001 + i))
    phones.append(phone)
heard, end = set(), time.time() + 10
while len(heard) < len(phones) and time.time() < end:
    for i, phone in enumerate(phones):
        phone.send(str(i).encode())
    for i, phone in enumerate(phones):
        try:
            text = phone.recv(100).decode()
        except OSError:
            continue
        if int(text) // 2 != i // 2:
            sys.exit(f"phone {i} hears {text}, which is of another call")
        if int(text) == i ^ 1:
            heard.add(i)
if len(heard) < len(phones):
    sys.exit(f"only {sorted(heard)} hear the other leg")`, gateways[0], gateways[1], fmt.Sprint(calls))
		return err
	})
}

// send sends a message from the network of the cluster, and returns the first answer.
func send(t *testing.T, network, address string, port int, message []byte) (string, error) {
	t.Helper()
	out, err := onNode(t.Context(), "python3", "-c", `
import socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_STREAM if sys.argv[1] == "tcp" else socket.SOCK_DGRAM)
client.settimeout(5)
client.connect((sys.argv[2], int(sys.argv[3])))
client.send(bytes.fromhex(sys.argv[4]))
print(client.recv(65536).hex())`, network, address, fmt.Sprint(port), hex.EncodeToString(message))
	if err != nil {
		return "", err
	}
	answer, err := hex.DecodeString(strings.TrimSpace(out))
	return string(answer), err
}
