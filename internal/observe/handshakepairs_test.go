package observe

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/model"
)

// envHandshakes makes the program run the handshakes, as two pods.
const envHandshakes = "ANYMESH_CONFORMANCE_HANDSHAKES"

// handshakeClients is the number of requests at a time.
const handshakeClients = 8

// insideHandshakes makes the handshakes of all combinations of TLS settings between two real sidecars.
func insideHandshakes(s Sidecar, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, remove, err := caseDir()
	if err != nil {
		return err
	}
	defer remove()
	return observeHandshakes(ctx, s, dir, out)
}

// observeHandshakes makes a request for each handshake, from the sidecar of the client to that of the server. It writes
// the differences from the decision of the interpreter, and how many succeeded, with TLS and without.
func observeHandshakes(ctx context.Context, s Sidecar, dir string, out io.Writer) error {
	all := handshakes()
	m, err := translateHandshakes(s.Driver, all)
	if err != nil {
		return err
	}
	client, err := m.View("client")
	if err != nil {
		return err
	}
	server, err := m.View("server")
	if err != nil {
		return err
	}
	files, err := enterHandshakes(ctx, s, dir, m, client, server)
	if err != nil {
		return err
	}
	results := make([]string, len(all))
	var wait sync.WaitGroup
	next := make(chan int)
	for range handshakeClients {
		wait.Go(func() {
			for i := range next {
				results[i] = request(ctx, all[i])
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wait.Wait()
	socket := filepath.Join(dir, "client", "admin.sock")
	made, err := handshakesMade(ctx, socket)
	if err != nil {
		return err
	}
	if err := files.findKeys(ctx, socket, out); err != nil {
		return err
	}
	counts := map[string]int{}
	for i, h := range all {
		e, err := expect(h, client, server)
		if err != nil {
			return err
		}
		got := fmt.Sprintf("%s, with TLS %v", results[i], results[i] == "200" && made[e.cluster] > 0)
		want := "503, with TLS false"
		if e.ok {
			want = fmt.Sprintf("200, with TLS %v", e.secured)
		}
		counts[want]++
		if got != want {
			fmt.Fprintf(out, "%s: got %s, want %s: %s\n", h, got, want, e.why)
		}
	}
	for _, want := range []string{"200, with TLS true", "200, with TLS false", "503, with TLS false"} {
		fmt.Fprintf(out, "%s%s: %d\n", handshakeCount, want, counts[want])
	}
	return nil
}

// handshakeCount is the prefix of the lines with counts.
const handshakeCount = "count of "

// expectation of a handshake. why is its reason, cluster the name of the cluster of the destination.
type handshakeExpectation struct {
	ok, secured  bool
	why, cluster string
}

// expect returns the decision of the interpreter.
func expect(h handshake, client, server *model.View) (handshakeExpectation, error) {
	name := fmt.Sprintf("%s_demo_http_%d", h.Node, h.Port)
	d, ok := client.Destination(name)
	i := slices.IndexFunc(server.Inbound, func(in model.Inbound) bool { return int(in.Listener.Port) == h.Port })
	if !ok || i < 0 {
		return handshakeExpectation{}, fmt.Errorf("no destination %s", name)
	}
	read := func(c model.Certificate) model.Handshake { return contentOf(nameOf(c)) }
	e := handshakeExpectation{secured: d.TLS != nil, cluster: "cds_egress_m_" + name}
	e.ok, e.why = model.Connect(d.TLS, server.Inbound[i].Listener.TLS, read)
	return e, nil
}

// enterHandshakes starts both sidecars: the client in the network namespace of this process, the server in the external
// one.
func enterHandshakes(ctx context.Context, s Sidecar, dir string, m Translation,
	client, server *model.View) (*certificates, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, &os.PathError{Op: "make mounts private", Path: "/", Err: err}
	}
	external, err := connectNetworks()
	if err != nil {
		return nil, err
	}
	used := &model.Model{Workloads: []model.Workload{client.Workload, server.Workload}}
	files, err := mountCertificates(used, nil)
	if err != nil {
		return nil, err
	}
	socket, err := files.serveSecrets(client, server)
	if err != nil {
		return nil, err
	}
	serverDir, clientDir := filepath.Join(dir, "server"), filepath.Join(dir, "client")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(serverDir, 0o755), os.Mkdir(clientDir, 0o755)); err != nil {
		return nil, err
	}
	if err := external.do(func() error {
		for _, in := range server.Inbound {
			if err := serveOK(fmt.Sprintf("127.0.0.1:%d", in.Listener.Port)); err != nil {
				return err
			}
		}
		if err := captureTraffic(server); err != nil {
			return err
		}
		_, err := process{s, serverDir, socket, external}.start(ctx, server.Workload, m.Rendered[server.Workload.Key])
		return err
	}); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := captureTraffic(client); err != nil {
		return nil, err
	}
	_, err = process{s, clientDir, socket, nil}.start(ctx, client.Workload, m.Rendered[client.Workload.Key])
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return files, nil
}

func serveOK(address string) error {
	l, err := net.Listen("tcp4", address)
	if err != nil {
		return err
	}
	s := &http.Server{
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: responseTimeout,
	}
	go func() { _ = s.Serve(l) }() // until the process ends
	return nil
}

// request returns the status of the response, or an error.
func request(ctx context.Context, h handshake) string {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d/", hostNetwork.Addr().Next(), h.Port), nil)
	if err != nil {
		return err.Error()
	}
	r.Host = h.Service
	response, err := transport.RoundTrip(r)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	return fmt.Sprint(response.StatusCode)
}

// administer returns the response of the admin interface of an Envoy.
func administer(ctx context.Context, socket, path string) (string, error) {
	var d net.Dialer
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) },
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin"+path, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// findKeys writes which private keys are in the configuration dump of an Envoy.
func (c *certificates) findKeys(ctx context.Context, socket string, out io.Writer) error {
	dump, err := administer(ctx, socket, "/config_dump?include_eds")
	if err != nil {
		return err
	}
	served := 0
	for name, issued := range c.issued {
		chain, key, err := encodePair(issued)
		if err != nil {
			return err
		}
		if strings.Contains(dump, base64.StdEncoding.EncodeToString(chain)) {
			served++
		}
		if strings.Contains(dump, base64.StdEncoding.EncodeToString(key)) || strings.Contains(dump, "PRIVATE KEY") {
			fmt.Fprintf(out, "the configuration dump has the private key of %s\n", name)
		}
	}
	if served == 0 {
		fmt.Fprintln(out, "the configuration dump has no certificate, and the search for keys proves nothing")
	}
	return nil
}

// handshakesMade returns the number of TLS handshakes of each cluster of an Envoy.
func handshakesMade(ctx context.Context, socket string) (map[string]int, error) {
	const suffix = ".ssl.handshake"
	text, err := administer(ctx, socket, "/stats?filter=ssl.handshake")
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if cluster, ok := strings.CutPrefix(name, "cluster."); ok && strings.HasSuffix(cluster, suffix) {
			var n int
			if _, err := fmt.Sscan(value, &n); err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			out[strings.TrimSuffix(cluster, suffix)] = n
		}
	}
	return out, nil
}
