package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestL7mpServersChange deletes one of two servers behind a gateway and their sidecars: a session with the other one
// stays, and new sessions have answers.
func TestL7mpServersChange(t *testing.T) {
	applyL7mpCase(t, "net", "dns.yaml", l7mpServers{"dns": {"udp", "127.0.0.1", "100"}})
	run(t, "-n", "net", "scale", "deployment", "dns", "--replicas=2")
	waitReady(t, "net", "deployment/dns")
	gateway := l7mpPods(t, "net", "gateway")[0]
	answers(t, "udp", gateway, 5000, "dns-")
	var specs []string
	for i := range 8 {
		specs = append(specs, fmt.Sprintf("udp/%s/5000/%d", gateway, 41000+i))
	}
	sessions := startFlows(t, specs...)
	pod := run(t, "-n", "net", "get", "pods", "-l", "app=dns", "-o", "jsonpath={.items[0].metadata.name}")
	run(t, "-n", "net", "delete", "pod", pod)
	waitReady(t, "net", "deployment/dns")
	failed := 0
	for range 10 {
		if out, err := send(t, "udp", gateway, 5000, []byte("hello")); err != nil || !strings.HasPrefix(out, "dns-") {
			failed++
			t.Log(out, err)
		}
	}
	if failed > 2 {
		t.Errorf("%d of 10 queries have no answer after a server was deleted", failed)
	}
	stayed := 0
	for _, f := range sessions.stop(t) {
		t.Logf("%+v", f)
		moved := false
		for who := range f.Answers {
			moved = moved || strings.HasPrefix(who, pod+":")
		}
		if !moved {
			stayed++
			if len(f.Answers) != 1 || f.Received < f.Sent {
				t.Errorf("a session with the server that stays is disturbed: %+v", f)
			}
		}
	}
	if stayed == 0 {
		t.Error("no session with the server that stays")
	}
}

// TestL7mpLegs has phones talk through singletons, JSONSocket, a transcoder in the pod of the worker, and Sync. A leg
// that is deleted does not silence the others.
func TestL7mpLegs(t *testing.T) {
	onLoopback(t, "192.0.2.1", "192.0.2.2", "192.0.2.3")
	applyL7mpCase(t, "voice", "legs.yaml", l7mpServers{"worker": {"jsonsocket", "127.0.0.1", "19001"}})
	run(t, "-n", "voice", "scale", "deployment", "worker", "--replicas=3")
	waitReady(t, "voice", "deployment/worker")
	// Singletons connect at once: those of a gateway that starts now choose among all workers.
	run(t, "-n", "voice", "delete", "pod", "-l", "app=gateway")
	waitReady(t, "voice", "deployment/gateway")
	gateway := l7mpPods(t, "voice", "gateway")[0]
	listen := func(legs ...int) {
		t.Helper()
		var args []string
		for _, leg := range legs {
			args = append(args, fmt.Sprint(leg))
		}
		eventually(t, 30*time.Second, fmt.Sprintf("the legs %v hear each other", legs), func() error {
			out, err := onNode(t.Context(), append([]string{"python3", "-c", l7mpProgram(t, "phones.py"), gateway}, args...)...)
			if err == nil {
				t.Log(strings.TrimSpace(out))
			}
			return err
		})
	}
	listen(1, 2)
	run(t, "-n", "voice", "delete", "vsvc", "call-7-b")
	apply(t, `
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: call-7-c, namespace: voice}
spec:
  selector: {matchService: gateway}
  listener:
    spec: {UDP: {port: 8003, connect: {address: 192.0.2.3, port: 8003}}}
    rules: [{action: {rewrite: [{path: /labels/session_id, value: "7"}], route: to-worker}}]
`)
	listen(1, 3)
	run(t, "-n", "voice", "delete", "pod", "-l", "app=gateway")
	waitReady(t, "voice", "deployment/gateway")
	gateway = l7mpPods(t, "voice", "gateway")[0]
	listen(1, 3)
}

// TestL7mpSockets has an application that speaks over unix sockets only, and starts after its proxy.
func TestL7mpSockets(t *testing.T) {
	applyL7mpCase(t, "app", "sockets.yaml", l7mpServers{
		"pod": {"unix", "/run/app/in.sock", "/run/app/start"}, "db": {"tcp", "0.0.0.0", "5432"},
	})
	pod := l7mpPods(t, "app", "pod")[0]
	const hello = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x81\x85\x00\x00\x00\x00hello"
	run(t, "-n", "app", "exec", "deployment/pod", "-c", "app", "--", "touch", "/run/app/start")
	eventually(t, 20*time.Second, "an answer over WebSocket", func() error {
		out, err := send(t, "tcp", pod, 8888, []byte(hello))
		if err != nil || !strings.Contains(out, "101 Switching") {
			return fmt.Errorf("got %q: %w", out, err)
		}
		return nil
	})
	answers(t, "tcp", pod, 8889, "pod-")
	out := func() error {
		answer, err := kubectl(t.Context(), "-n", "app", "exec", "deployment/pod", "-c", "app", "--", "python3", "-c", `
import socket
client = socket.socket(socket.AF_UNIX)
client.settimeout(5)
client.connect("/run/app/out.sock")
client.send(b"hello\n")
print(client.recv(100).decode())`)
		if err != nil || !strings.HasPrefix(answer, "db-") {
			return fmt.Errorf("got %q: %w", answer, err)
		}
		return nil
	}
	eventually(t, 20*time.Second, "the database, over a unix socket", out)
	proxies := processesAt(t, pod, "--discover[y]")
	if len(proxies) == 0 {
		t.Fatal("there is no proxy")
	}
	signal(t, "KILL", proxies...)
	eventually(t, 20*time.Second, "the database, after the proxy was killed", out)
	l7mpCondition(t, "app", "target/in-bad", "False InvalidField")
	for i := 1; i <= 4; i++ {
		l7mpCondition(t, "app", fmt.Sprintf("target/in-%d", i), "True Accepted")
	}
}

// TestL7mpChanges changes rules, the balancer and the workers while calls run: their sessions stay, and no packet is
// lost by a change of the objects. A singleton that ended is there again with the next packet.
func TestL7mpChanges(t *testing.T) {
	onLoopback(t, "192.0.2.9")
	servers := l7mpServers{"worker": {"udp", "0.0.0.0", "30000"}, "spare": {"udp", "0.0.0.0", "30000"}}
	applyL7mpCase(t, "voice", "changes.yaml", servers)
	gateway := l7mpPods(t, "voice", "gateway")[0]
	answers(t, "udp", gateway, 9001, "worker-")
	specs := []string{fmt.Sprintf("udp/%s/9002/192.0.2.9:4000", gateway)}
	for i := range 10 {
		specs = append(specs, fmt.Sprintf("udp/%s/9001/%d", gateway, 42000+i))
	}
	calls := startFlows(t, specs...)
	answersFrom := func(server string) {
		t.Helper()
		eventually(t, 20*time.Second, "a new session with "+server, func() error {
			out, err := onNode(t.Context(), "python3", "-c", `
import random, socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.bind(("", random.randrange(45000, 60000)))  # another session than those before
client.settimeout(5)
client.connect((sys.argv[1], 9001))
client.send(b"hello")
print(client.recv(100).decode())`, gateway)
			if err != nil || !strings.HasPrefix(out, server) {
				return fmt.Errorf("got %q: %w", out, err)
			}
			return nil
		})
	}
	apply(t, l7mpCase(t, "changes-after.yaml", servers))
	answersFrom("spare-")
	if _, err := kubectlInput(t.Context(), l7mpCase(t, "changes.yaml", servers), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	answersFrom("worker-")
	for _, f := range calls.stop(t) {
		t.Logf("%+v", f)
		if f.Received < f.Sent || len(f.Answers) != 1 || len(f.Errors) > 0 {
			t.Errorf("a call is disturbed: %+v", f)
		}
	}
	calls = startFlows(t, specs...)
	run(t, "-n", "voice", "rollout", "restart", "deployment", "worker")
	calls.await(t, "the calls move to the new worker", func(f flow) bool { return len(f.Answers) == 2 })
	for _, f := range calls.stop(t) {
		t.Logf("%+v", f)
	}
	waitReady(t, "voice", "deployment/worker")
	run(t, "-n", "voice", "scale", "deployment", "worker", "--replicas=0")
	eventually(t, 30*time.Second, "no worker", func() error {
		if len(l7mpPods(t, "voice", "worker")) > 0 {
			return errors.New("there are workers")
		}
		return nil
	})
	calls = startFlows(t, specs[0])
	run(t, "-n", "voice", "scale", "deployment", "worker", "--replicas=1")
	calls.await(t, "the singleton is there again", func(f flow) bool { return f.Received > 0 })
}
