package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// egressManifests are pods outside every mesh, attacker and aws, and their program, which pod app of the mesh colors
// runs, too. The program serves TCP on ports 443 and 8443 and says its name, and connects where a request tells it to.
// Pod aws also answers DNS questions: bucket.amazonaws.com has the address of this pod, other names of this domain do
// not exist, and all other questions are forwarded.
const egressManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: egress}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {namespace: egress, name: egress}, data: {program.py: %[1]q}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {namespace: colors, name: egress}, data: {program.py: %[1]q}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: egress}
spec: {podSelector: {matchLabels: {app: egress-app}}}
`

// egressPod is a pod with the program. dns is its DNS configuration.
func egressPod(namespace, name, dns string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: egress-%s, labels: {app: egress-%[2]s}}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: program, configMap: {name: egress}}]
  containers:
    - name: app
      image: anymesh.dev/python
      command: [python3, /program/program.py, %[2]s, $(ADDRESS)]
      env: [{name: ADDRESS, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
      volumeMounts: [{name: program, mountPath: /program}]
      readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
  %[3]s
`, namespace, name, dns)
}

const egressProgram = `
import http.server, json, socket, ssl, struct, sys, threading, urllib.parse

NAME, ADDRESS = sys.argv[1], sys.argv[2]
lock, accepted = threading.Lock(), []

def serve(port):
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(5)
            hello = connection.recv(65536)
            with lock:
                accepted.append([port, hello.decode("latin-1")])
            connection.sendall(NAME.encode())

def hello(name):
    context = ssl.create_default_context()
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(into, out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return out.read()

def call(address, port, name):
    try:
        with socket.create_connection((address, port), timeout=5) as connection:
            connection.sendall(hello(name))
            answer = connection.recv(100)
            return answer.decode() or "closed"
    except ConnectionError:
        return "closed"
    except OSError as e:
        return f"error: {e}"

class Requests(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
        if "address" in query:
            body = call(query["address"], int(query["port"]), query["name"])
        else:
            with lock:
                body = json.dumps(accepted)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass

def forward(question):
    with open("/etc/resolv.conf") as f:
        server = next(line.split()[1] for line in f if line.startswith("nameserver"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(5)
        s.sendto(question, (server, 53))
        return s.recv(65536)

def answer(question):
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode().lower())
        at += 1 + question[at]
    end, kind = at + 5, struct.unpack(">H", question[at + 1:at + 3])[0]
    if labels[-2:] != ["amazonaws", "com"]:
        return forward(question)
    exists = labels == ["bucket", "amazonaws", "com"]
    records = b""
    if exists and kind == 1:
        records = struct.pack(">HHHIH", 0xC00C, 1, 1, 5, 4) + socket.inet_aton(ADDRESS)
    counts = struct.pack(">HHHHH", 0x8180 if exists else 0x8183, 1, len(records) > 0, 0, 0)
    return question[:2] + counts + question[12:end] + records

def dns():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("", 53))
        while True:
            question, client = s.recvfrom(65536)
            threading.Thread(target=lambda q, c: s.sendto(answer(q), c), args=(question, client)).start()

for port in (443, 8443):
    threading.Thread(target=serve, args=(port,), daemon=True).start()
if NAME == "aws":
    threading.Thread(target=dns, daemon=True).start()
http.server.ThreadingHTTPServer(("", 8080), Requests).serve_forever()
`

// egressRequest sends a request to the program of a pod.
func egressRequest(t *testing.T, namespace, name string, parameters map[string]string) string {
	t.Helper()
	request := lab.kube.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").Name("egress-" + name + ":8080").
		SubResource("proxy").Suffix("/")
	for key, value := range parameters {
		request.Param(key, value)
	}
	text, err := request.DoRaw(t.Context())
	if err != nil {
		t.Fatalf("request to pod %s: %v", name, err)
	}
	return string(text)
}

// TestTLSToAWSDoesNotReachOtherAddresses connects from a mesh with DROP_ALL to an attacker, with a TLS server name that
// the mesh allows. The sidecar resolves the name, and connects to its address.
func TestTLSToAWSDoesNotReachOtherAddresses(t *testing.T) {
	apply(t, fmt.Sprintf(egressManifests, egressProgram)+"---"+egressPod("egress", "attacker", "")+"---"+
		egressPod("egress", "aws", ""))
	run(t, "-n", "egress", "wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s")
	attacker, aws := podIPs(t, "egress", "app=egress-attacker"), podIPs(t, "egress", "app=egress-aws")
	apply(t, egressPod("colors", "app", fmt.Sprintf("dnsPolicy: None\n  dnsConfig: {nameservers: [%q]}", aws[0])))
	run(t, "-n", "colors", "wait", "--for=condition=Ready", "pod/egress-app", "--timeout=180s")

	const own, unresolved, other = "bucket.amazonaws.com", "nothing.amazonaws.com", "bucket.example.com"
	for _, address := range attacker {
		for _, c := range []struct{ namespace, pod, name, port, want string }{
			{"egress", "aws", own, "443", "attacker"}, // without a sidecar, the attacker is reached
			{"egress", "aws", own, "8443", "attacker"},
			{"colors", "app", own, "443", "aws"},
			{"colors", "app", unresolved, "443", "closed"},
			{"colors", "app", other, "443", "closed"},
			{"colors", "app", own, "8443", "closed"},
		} {
			what := map[string]string{"address": address, "port": c.port, "name": c.name}
			if got := egressRequest(t, c.namespace, c.pod, what); got != c.want {
				t.Errorf("pod %s connects to the attacker with %v: the answer is %q, want %q", c.pod, what, got, c.want)
			}
		}
	}
	accepted := func(pod string) (out [][2]any) {
		if err := json.Unmarshal([]byte(egressRequest(t, "egress", pod, nil)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := accepted("attacker"); len(got) != 4 { // those of pod aws
		t.Errorf("the attacker accepted %d connections, want 4", len(got))
	}
	got := accepted("aws")
	for _, c := range got {
		if hello, _ := c[1].(string); c[0] != 443.0 || !strings.Contains(hello, own) {
			t.Errorf("the server of the name accepted a connection to port %v with %q", c[0], c[1])
		}
	}
	if len(got) != len(attacker) {
		t.Errorf("the server of the name accepted %d connections, want %d", len(got), len(attacker))
	}
}
