package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"anymesh.dev/anymesh/test/sds"
)

// The identities of the pods of colors in the trust domain of the mesh, and in that of a server on the nodes.
const (
	meshTrust    = "spiffe://cluster.local"
	meshIdentity = meshTrust + "/ns/colors/sa/default"
	nodeTrust    = "spiffe://example.org"
	frontOnNode  = nodeTrust + "/front"
	tallyOnNode  = nodeTrust + "/tally"
)

// listenerTLS and clientTLS are parts of manifests.
func listenerTLS(certificate, trust, client string) string {
	return fmt.Sprintf(`"tls":{"mode":"STRICT","certificate":{"sds":{"secretName":%q}},"validation":{"trust":{"sds":{"secretName":%q}},
		"subjectAlternativeNames":{"match":{"exact":[%q]}}}}`, certificate, trust, client)
}

func clientTLS(certificate, trust, server string) string {
	return fmt.Sprintf(`"clientPolicy":{"tls":{"certificate":{"sds":{"secretName":%q}},"validation":{"trust":{"sds":{"secretName":%q}},
		"subjectAlternativeNames":{"match":{"exact":[%q]}}}}}`, certificate, trust, server)
}

// requireMutualTLS makes the services of colors require the certificates of front: color and store that of the mesh,
// tally that of the server on the nodes. store and tally are TCP services: each call is a new handshake.
func requireMutualTLS(t *testing.T) {
	t.Helper()
	ofMesh := listenerTLS(meshIdentity, meshTrust, meshIdentity)
	patch := func(node, text string) {
		run(t, "-n", "colors", "patch", "virtualnode", node, "--type=merge", "-p", text)
	}
	for node, listener := range map[string]string{
		"color-red":  `{"portMapping":{"port":8080,"protocol":"http"},` + ofMesh + `}`,
		"color-blue": `{"portMapping":{"port":8080,"protocol":"http"},` + ofMesh + `}`,
		"store":      `{"portMapping":{"port":9000,"protocol":"tcp"},` + ofMesh + `}`,
		"tally":      `{"portMapping":{"port":8081,"protocol":"tcp"},` + listenerTLS(tallyOnNode, nodeTrust, frontOnNode) + `}`,
	} {
		patch(node, `{"spec":{"listeners":[`+listener+`]}}`)
	}
	backend := func(name, policy string) string {
		return fmt.Sprintf(`{"virtualService":{"virtualServiceRef":{"name":%q},%s}}`, name, policy)
	}
	toMesh := clientTLS(meshIdentity, meshTrust, meshIdentity)
	patch("front", `{"spec":{"backends":[`+backend("color", toMesh)+`,`+backend("store", toMesh)+`,`+
		backend("tally", clientTLS(frontOnNode, nodeTrust, tallyOnNode))+`]}}`)
	for _, backend := range []string{colorURL, tallyURL, storeURL} {
		eventually(t, 20*time.Second, "front reaches "+backend, func() error {
			o, err := callFrom(t.Context(), "front", backend)
			return want(o, err, o.Error == "" && o.Version != "", "a response")
		})
	}
}

// The URLs of the backends of front.
const (
	tallyURL = "http://tally.colors.svc.cluster.local:8081/"
	storeURL = "tcp://store.colors.svc.cluster.local:9000"
)

// nodeAuthority is a server of the secret discovery service on the nodes, with the authority of a trust domain.
type nodeAuthority struct {
	*sds.Server
	socket string
	roots  []*x509.Certificate // the last one signs
	key    *ecdsa.PrivateKey
	serial int64
}

func startNodeAuthority(t *testing.T) *nodeAuthority {
	t.Helper()
	a := &nodeAuthority{socket: filepath.Join(t.TempDir(), "agent.sock")}
	var err error
	if a.Server, err = sds.Listen(a.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Stop)
	if err := errors.Join(a.newRoot(), a.issue()); err != nil {
		t.Fatal(err)
	}
	return a
}

// rotate is one step of the replacement of the root and all certificates. The new root is trusted before it signs, and
// the old one until no sidecar has a certificate of it. It returns when all sidecars have the new secrets.
func (a *nodeAuthority) rotate(ctx context.Context, step int) error {
	if err := []func() error{a.newRoot, a.issue, a.retire}[step%rotationSteps](); err != nil {
		return err
	}
	for !a.Settled() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("sidecars do not acknowledge new secrets: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

const rotationSteps = 3

func (a *nodeAuthority) template() *x509.Certificate {
	a.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

// newRoot adds a root to the trust bundle, which signs from now on.
func (a *nodeAuthority) newRoot() (err error) {
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	template := a.template()
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	template.Subject.CommonName = fmt.Sprintf("root %d", a.serial)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		return err
	}
	root, err := x509.ParseCertificate(der)
	a.roots = append(a.roots, root)
	a.Set(a.bundle())
	return err
}

// retire removes the old roots from the trust bundle.
func (a *nodeAuthority) retire() error {
	a.roots = a.roots[len(a.roots)-1:]
	a.Set(a.bundle())
	return nil
}

func (a *nodeAuthority) bundle() *tlsv3.Secret {
	var text []byte
	for _, root := range a.roots {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw})...)
	}
	return sds.Trust(nodeTrust, text)
}

// issue replaces the certificates.
func (a *nodeAuthority) issue() error {
	var all []*tlsv3.Secret
	for _, name := range []string{frontOnNode, tallyOnNode} {
		id, err := url.Parse(name)
		if err != nil {
			return err
		}
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		template := a.template()
		template.URIs = []*url.URL{id}
		certificate, err := x509.CreateCertificate(rand.Reader, template, a.roots[len(a.roots)-1], key.Public(), a.key)
		if err != nil {
			return err
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return err
		}
		all = append(all, sds.Certificate(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	}
	a.Set(all...)
	return nil
}

// rotateUnderLoad calls f while front calls store and tally, and while the server on the nodes rotates. No call may
// fail, and both services present new certificates.
func (a *nodeAuthority) rotateUnderLoad(t *testing.T, f func()) {
	t.Helper()
	served := map[string]string{}
	for app, port := range map[string]int{"store": 9000, "tally": 8081} {
		served[app] = presented(t, app, port)
	}
	stopped, done := make(chan struct{}), make(chan struct{})
	counts, steps := map[string]int{}, 0
	go func() {
		defer close(done)
		for stop := false; !stop; steps++ {
			select {
			case <-stopped:
				stop = true
			default:
			}
			// Handshakes that begin before a step end before the next one.
			if err := a.stepUnderLoad(t, steps, counts); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	f()
	close(stopped)
	<-done
	t.Logf("%d steps of rotations of the server on the nodes; calls: %v", steps, counts)
	if len(counts) != 2 || counts["tally"] == 0 || counts["store"] == 0 || steps < 3*rotationSteps {
		t.Errorf("%d steps, calls during the rotations: %v", steps, counts)
	}
	for app, port := range map[string]int{"store": 9000, "tally": 8081} {
		if now := presented(t, app, port); now == served[app] {
			t.Errorf("%s presents the certificate from before the rotations:\n%s", app, now)
		}
	}
	if rejected := a.Rejected(); len(rejected) > 0 {
		t.Errorf("sidecars reject secrets: %s", strings.Join(rejected, "; "))
	}
}

// stepUnderLoad counts the outcomes of calls, during which it makes one step of a rotation.
func (a *nodeAuthority) stepUnderLoad(t *testing.T, step int, counts map[string]int) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(contextOf(t), hang)
	defer cancel()
	rotated := make(chan error, 1)
	go func() { rotated <- a.rotate(ctx, step) }()
	for _, target := range []string{tallyURL, storeURL} {
		outcomes, err := countCalls(t.Context(), "front", target, 100)
		if err != nil {
			return err
		}
		for outcome, n := range outcomes {
			counts[outcome] += n
		}
	}
	return <-rotated
}

// presented returns the certificate that a pod of colors presents.
func presented(t *testing.T, app string, port int) string {
	t.Helper()
	address := run(t, "-n", "colors", "get", "pods", "-l", "app="+app, "-o", "jsonpath={.items[0].status.podIP}")
	certificate, err := servedCertificate(t.Context(), address, port)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
