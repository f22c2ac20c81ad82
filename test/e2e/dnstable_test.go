package e2e

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/sidecar"
)

// tableManifests are Services whose names CoreDNS answers.
func tableManifests() string {
	var b strings.Builder
	b.WriteString(`
{apiVersion: v1, kind: Namespace, metadata: {name: names-table}}
---
apiVersion: v1
kind: Service
metadata: {name: plain, namespace: names-table}
spec: {ipFamilyPolicy: PreferDualStack, selector: {app: none}, ports: [{name: http, port: 80}, {name: other, port: 81, protocol: UDP}]}
---
{apiVersion: v1, kind: Service, metadata: {name: external, namespace: names-table}, spec: {type: ExternalName, externalName: example.com}}
`)
	for _, n := range []int{3, 40, 300} {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Service
metadata: {name: headless-%d, namespace: names-table}
spec: {clusterIP: None, ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: headless-%d, namespace: names-table, labels: {kubernetes.io/service-name: headless-%d}}
addressType: IPv4
ports: [{name: http, port: 80}]
endpoints:
`, n, n, n)
		for i := range n {
			fmt.Fprintf(&b, "- {addresses: [192.0.%d.%d], hostname: a%d}\n", i/100, i%100, i)
		}
	}
	return b.String()
}

// askProgram sends the messages of its input over UDP and TCP, as the user of its first argument, to the nameserver of
// the second one. It prints the replies.
const askProgram = `
import concurrent.futures, json, os, socket, struct, sys, time

def over_udp(msg):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(timeout)
        s.connect((server, 53))
        s.send(msg)
        return s.recv(65535)

# An agent with too many connections closes the next one: clients connect again.
def over_tcp(msg):
    for attempt in range(5):
        try:
            reply = exchange_tcp(msg)
            if reply:
                return reply
        except ConnectionResetError:
            if attempt == 4:
                raise
        time.sleep(0.1)
    return b""

def exchange_tcp(msg):
    with socket.create_connection((server, 53), timeout=timeout) as s:
        s.sendall(struct.pack("!H", len(msg)) + msg)
        reply = b""
        while len(reply) < 2 or len(reply) < 2 + struct.unpack("!H", reply[:2])[0]:
            part = s.recv(65535)
            if not part:
                return b""
            reply += part
        return reply[2:]

def ask(line):
    network, msg = line.split(",")
    try:
        return {"udp": over_udp, "tcp": over_tcp}[network](bytes.fromhex(msg)).hex()
    except OSError as e:
        return "" if isinstance(e, TimeoutError) else str(e)

user, server, timeout = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
os.setuid(user)
with concurrent.futures.ThreadPoolExecutor(64) as pool:
    print(json.dumps(list(pool.map(ask, sys.stdin.read().split()))))
`

// Users of askProgram: CoreDNS replies to the sidecar's user directly.
const (
	throughAgent = 0
	direct       = sidecar.UID
)

// replyTimeout exceeds the time after which the agent replies that no nameserver replied.
const replyTimeout = "6"

// testAnswersOfCoreDNS sends each question of a table directly to CoreDNS and through the agent, over UDP and TCP. The
// replies are equal, byte by byte, except for TTLs.
func testAnswersOfCoreDNS(t *testing.T, pod string) {
	apply(t, tableManifests())
	questions := dnsQuestions(t, reverseNames(t))
	table := len(questions)
	questions = append(questions, questionOfMesh(t))
	nameserver := run(t, "-n", "kube-system", "get", "service", "kube-dns", "-o", "jsonpath={.spec.clusterIP}")
	var input strings.Builder
	for _, network := range []string{"udp", "tcp"} {
		for _, q := range questions {
			fmt.Fprintf(&input, "%s,%x\n", network, q.msg)
		}
	}
	ask := func(user int) ([]string, error) {
		out, err := kubectlInput(t.Context(), input.String(), "-n", "lookups", "exec", "-i", pod, "-c", "glibc", "--",
			"python3", "-c", askProgram, fmt.Sprint(user), nameserver, replyTimeout)
		var replies []string
		if err == nil {
			err = json.Unmarshal([]byte(out), &replies)
		}
		if err == nil && len(replies) != 2*len(questions) {
			err = fmt.Errorf("%d results for %d messages", len(replies), 2*len(questions))
		}
		return replies, err
	}
	var want, got []string
	var group errgroup.Group
	for user, replies := range map[int]*[]string{direct: &want, throughAgent: &got} {
		group.Go(func() (err error) {
			*replies, err = ask(user)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	replied := 0
	for i, reply := range want {
		q := questions[i%len(questions)]
		network := []string{"UDP", "TCP"}[i/len(questions)]
		if i%len(questions) == table {
			if reply == got[i] {
				t.Errorf("both replies about a name of the mesh are %s", reply)
			}
			continue
		}
		if len(reply) >= 24 {
			replied++
		}
		if a, b := normalReply(t, reply, q.shuffled), normalReply(t, got[i], q.shuffled); a != b {
			t.Errorf("%s over %s:\nquestion %x\nCoreDNS  %.1200s\nagent    %.1200s", q.title, network, q.msg, a, b)
		}
	}
	t.Logf("%d replies to %d questions", replied, len(want))
	if replied < len(want)*9/10 {
		t.Errorf("CoreDNS replied to %d of %d questions", replied, len(want))
	}
	checkSizes(t, questions, got)
}

// questionOfMesh returns the question about a name that only the agent answers. The replies differ.
func questionOfMesh(t *testing.T) dnsQuestion {
	l := &questionList{t: t}
	l.add("of the mesh", lookedUp[0]+".", dns.TypeA, nil)
	return l.all[0]
}

// reverseNames returns the names of PTR records of a Service, one for each address family.
func reverseNames(t *testing.T) (out []string) {
	t.Helper()
	service, err := lab.kube.CoreV1().Services("names-table").Get(t.Context(), "plain", metav1.GetOptions{})
	if err != nil || len(service.Spec.ClusterIPs) != 2 {
		t.Fatalf("addresses of the Service: %v, error %v", service.Spec.ClusterIPs, err)
	}
	for _, ip := range service.Spec.ClusterIPs {
		name, err := dns.ReverseAddr(netip.MustParseAddr(ip).String())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	return out
}

// normalReply returns a reply without TTLs, in hexadecimal digits. Replies with records in random order are returned as
// text with sorted records. If they are truncated, they have random records, of which only the number is returned.
func normalReply(t *testing.T, reply string, shuffled bool) string {
	t.Helper()
	msg, err := hex.DecodeString(reply)
	if err != nil {
		return reply // an error of the connection
	}
	clearTTLs(msg)
	var m dns.Msg
	if !shuffled || m.Unpack(msg) != nil {
		return hex.EncodeToString(msg)
	}
	if m.Truncated {
		return fmt.Sprintf("%x %d %d %d", msg[:12], len(m.Answer), len(m.Ns), len(m.Extra))
	}
	for _, section := range [][]dns.RR{m.Answer, m.Ns, m.Extra} {
		slices.SortFunc(section, func(a, b dns.RR) int { return strings.Compare(a.String(), b.String()) })
	}
	return fmt.Sprintf("%d bytes\n%s", len(msg), &m)
}

// clearTTLs sets all TTLs of a message to 0. The field has another meaning in OPT records.
func clearTTLs(msg []byte) {
	if len(msg) < 12 {
		return
	}
	skipName := func(at int) int {
		for at < len(msg) && msg[at] != 0 {
			if msg[at] >= 0xc0 {
				return at + 2
			}
			at += 1 + int(msg[at])
		}
		return at + 1
	}
	at := 12
	for range binary.BigEndian.Uint16(msg[4:]) {
		at = skipName(at) + 4
	}
	records := 0
	for i := 6; i < 12; i += 2 {
		records += int(binary.BigEndian.Uint16(msg[i:]))
	}
	for range records {
		if at = skipName(at); at+10 > len(msg) {
			return
		}
		if binary.BigEndian.Uint16(msg[at:]) != dns.TypeOPT {
			clear(msg[at+4 : at+8])
		}
		at += 10 + int(binary.BigEndian.Uint16(msg[at+8:]))
	}
}

// checkSizes checks that a long answer is truncated over UDP and complete over TCP.
func checkSizes(t *testing.T, questions []dnsQuestion, replies []string) {
	t.Helper()
	checked := 0
	for i, q := range questions {
		if !strings.HasPrefix(q.title, headlessPrefix+"300.") || !strings.Contains(q.title, "4096 bytes") {
			continue
		}
		checked++
		var overUDP, overTCP dns.Msg
		for reply, m := range map[string]*dns.Msg{replies[i]: &overUDP, replies[len(questions)+i]: &overTCP} {
			msg, err := hex.DecodeString(reply)
			if err == nil {
				err = m.Unpack(msg)
			}
			if err != nil {
				t.Fatalf("%s: %v", q.title, err)
			}
		}
		if !overUDP.Truncated || overTCP.Truncated || len(overTCP.Answer) != 300 {
			t.Errorf("%s: truncated %v over UDP, %v over TCP with %d answers", q.title, overUDP.Truncated, overTCP.Truncated,
				len(overTCP.Answer))
		}
	}
	if checked == 0 {
		t.Error("no long answer")
	}
}
