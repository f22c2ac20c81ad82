package observe

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCertificateFiles changes a listener and a cluster to files that the pod does not have yet. The Envoy serves with
// what it has until the files are there, and after they are gone or invalid. The control plane is told. Envoy watches
// no files.
func TestCertificateFiles(t *testing.T) {
	for version, binary := range binaries(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := startFilesPod(t, binary)
			first := p.serves("the first certificate", "")
			if n := p.inotifyInstances(); n != 0 {
				t.Errorf("Envoy has %d instances of inotify", n)
			}
			p.publish("b", "b")
			p.told("the files are missing", "pod web-1: open "+p.dir+"/b/")
			p.keeps(first)
			p.write("b")
			second := p.serves("the certificate that was missing", first)
			p.told("the files are there", "")

			if err := os.Remove(filepath.Join(p.dir, "b", "chain.pem")); err != nil {
				t.Fatal(err)
			}
			p.told("a file is gone", "chain.pem: no such file")
			p.keeps(second)
			p.writeFile("b/chain.pem", []byte("no certificate"))
			p.writeFile("b/ca.pem", []byte("no certificate"))
			p.told("a file is invalid", "chain.pem with")
			p.told("a file is invalid", "ca.pem has no certificate")
			p.keeps(second)
			p.write("b")
			third := p.serves("the replaced certificate", second)
			p.told("the files are valid", "")

			p.stopControlPlane()
			p.write("b")
			p.serves("the certificate that was replaced without a control plane", third)
		})
	}
}

// TestMissingCertificateFilesAtStart starts an Envoy without the files of its listener: it is ready, and serves when
// the files are there.
func TestMissingCertificateFilesAtStart(t *testing.T) {
	for version, binary := range binaries(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newFilesPod(t)
			p.write("a")
			p.publish("b", "b")
			p.start(binary)
			p.told("the files are missing", "no such file")
			p.write("b")
			p.serves("the certificate that was missing", "")
			p.told("the files are there", "")
		})
	}
}

// write writes a new certificate and its key into a folder, and the trust in the upstream server.
func (p *filesPod) write(folder string) {
	p.t.Helper()
	p.files.issued = map[string]tls.Certificate{}
	issued, err := p.files.issue("/" + folder + "/own.pem")
	if err != nil {
		p.t.Fatal(err)
	}
	chain, key, err := encodePair(issued)
	if err != nil {
		p.t.Fatal(err)
	}
	p.writeFile(folder+"/key.pem", key)
	p.writeFile(folder+"/chain.pem", chain)
	p.writeFile(folder+"/ca.pem", encode("CERTIFICATE", p.authority.Raw))
}

func (p *filesPod) writeFile(name string, content []byte) {
	p.t.Helper()
	if err := writeFile(filepath.Join(p.dir, name), content); err != nil {
		p.t.Fatal(err)
	}
}

// request returns the serial number of the certificate of the listener.
func (p *filesPod) request() (serial string, err error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the test looks at the certificate
	}}
	response, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/", p.port))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, text)
	}
	return response.TLS.PeerCertificates[0].SerialNumber.String(), nil
}

// serves waits until requests succeed with another certificate than the one before. Meanwhile, none may fail, unless
// there was none before.
func (p *filesPod) serves(what, before string) string {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		serial, err := p.request()
		switch {
		case err == nil && serial != before:
			return serial
		case err != nil && before != "":
			p.t.Fatalf("%s: %v", what, err)
		case time.Now().After(end):
			p.t.Fatalf("%s is not served: certificate %s, error %v", what, serial, err)
		}
	}
}

// keeps fails the test unless requests succeed with a certificate.
func (p *filesPod) keeps(serial string) {
	p.t.Helper()
	for range 20 {
		if got, err := p.request(); err != nil || got != serial {
			p.t.Fatalf("got certificate %s, error %v; want certificate %s", got, err, serial)
		}
	}
}

// told waits until the control plane knows a problem; empty for none.
func (p *filesPod) told(what, problem string) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		known := slices.Collect(maps.Values(p.messages))
		p.mu.Unlock()
		if problem == "" && len(known) == 0 || problem != "" && strings.Contains(strings.Join(known, "\n"), problem) {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: the control plane knows %q, want %q", what, known, problem)
		}
	}
}

// inotifyInstances counts those of Envoy, whose configuration is in a folder of the test.
func (p *filesPod) inotifyInstances() (n int) {
	p.t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		p.t.Fatal(err)
	}
	found := false
	for _, process := range processes {
		command, err := os.ReadFile(process)
		if err != nil || !bytes.Contains(command, []byte(filepath.Dir(p.dir)+"/")) {
			continue
		}
		files, err := filepath.Glob(filepath.Dir(process) + "/fd/*")
		if err != nil {
			p.t.Fatal(err)
		}
		for _, file := range files {
			found = true
			if target, err := os.Readlink(file); err == nil && strings.Contains(target, "inotify") {
				n++
			}
		}
	}
	if !found {
		p.t.Fatal("the process of Envoy is not found")
	}
	return n
}

// Connected implements xds.Observer.
func (p *filesPod) Connected(string) {}

// Disconnected implements xds.Observer.
func (p *filesPod) Disconnected(string, string) { p.note(nil, "") }

// Acked implements xds.Observer.
func (p *filesPod) Acked(_, _, typeURL, _ string, rejected map[string]string) {
	if len(rejected) == 0 && strings.HasSuffix(typeURL, "Secret") {
		p.note(nil, "")
	}
}

// Nacked implements xds.Observer.
func (p *filesPod) Nacked(_, _, _ string, rejected map[string]string, message string) {
	p.note(rejected, message)
}

func (p *filesPod) note(rejected map[string]string, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rejected == nil {
		clear(p.messages)
	}
	for name := range rejected {
		p.messages[name] = message
	}
}
