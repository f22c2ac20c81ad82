package relay

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// contentSeparator separates the version of a secret of the control plane from the hash of the files.
const contentSeparator = "~"

// secrets are the secrets of files that the control plane named. They are safe for concurrent use.
type secrets struct {
	log    *slog.Logger
	mu     sync.Mutex
	byName map[string]*secret
}

func newSecrets(log *slog.Logger) *secrets { return &secrets{log: log, byName: map[string]*secret{}} }

// secret is a secret with its files.
type secret struct {
	resource *discoveryv3.Resource // of the control plane
	named    *tlsv3.Secret         // with the names of files
	read     []os.FileInfo         // states of the files when they were read
	problem  string                // why the files are not in use; empty if they are
	content  *anypb.Any            // of the last valid files; nil if there were none
	hash     string                // of content
}

// define notes a secret of the control plane. It returns the secret with the content of its files, or nil if they were
// never valid, and what is wrong with the files.
func (all *secrets) define(r *discoveryv3.Resource) (full *discoveryv3.Resource, problem string, err error) {
	named := &tlsv3.Secret{}
	if err := r.GetResource().UnmarshalTo(named); err != nil {
		return nil, "", fmt.Errorf("secret %s: %w", r.Name, err)
	}
	if len(filesOf(named)) == 0 {
		return r, "", nil
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	one := all.byName[r.Name]
	if one == nil || !proto.Equal(one.named, named) {
		one = &secret{named: named}
		all.byName[r.Name] = one
	}
	one.resource = r
	all.refresh(one)
	return one.full(), one.problem, nil
}

// resource returns a secret with the content of its files; nil if there is none.
func (all *secrets) resource(name string) *discoveryv3.Resource {
	all.mu.Lock()
	defer all.mu.Unlock()
	if one := all.byName[name]; one != nil {
		return one.full()
	}
	return nil
}

// forget drops a secret that Envoy does not use any more.
func (all *secrets) forget(name string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.byName, name)
}

// problem returns why the files of a secret are not in use; empty if they are.
func (all *secrets) problem(name string) string {
	all.mu.Lock()
	defer all.mu.Unlock()
	if one := all.byName[name]; one != nil {
		return one.problem
	}
	return ""
}

// poll reads files that changed, and returns the secrets that now have another problem or none any more.
func (all *secrets) poll(used iter.Seq[string]) (changed []string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for name := range used {
		if one := all.byName[name]; one != nil && all.refresh(one) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// refresh reads the files of a secret if they changed, and reports whether its problem changed.
func (all *secrets) refresh(one *secret) (changed bool) {
	now := states(filesOf(one.named))
	if one.problem == "" && unchanged(now, one.read) {
		return false
	}
	one.read = now
	before := one.problem
	content, err := load(one.named)
	if err == nil {
		one.problem = ""
		one.content, err = anypb.New(content)
	}
	if err != nil {
		one.problem = err.Error()
	} else {
		sum := sha256.Sum256(one.content.Value)
		one.hash = base64.RawURLEncoding.EncodeToString(sum[:9])
	}
	if one.problem == before {
		return false
	}
	switch {
	case one.problem == "":
		all.log.Info("certificate files are valid again", "files", filesOf(one.named))
	case one.content == nil:
		all.log.Error("certificate files cannot be used; what needs them waits", "error", one.problem)
	default:
		all.log.Error("certificate files cannot be used; the last valid ones stay in use", "error", one.problem)
	}
	return true
}

// full returns the secret with its content, or nil.
func (one *secret) full() *discoveryv3.Resource {
	if one.content == nil {
		return nil
	}
	return &discoveryv3.Resource{
		Name: one.resource.Name, Version: one.resource.Version + contentSeparator + one.hash, Resource: one.content,
	}
}

// filesOf lists the files of a secret.
func filesOf(s *tlsv3.Secret) (out []string) {
	for _, source := range []*corev3.DataSource{
		s.GetTlsCertificate().GetCertificateChain(), s.GetTlsCertificate().GetPrivateKey(),
		s.GetValidationContext().GetTrustedCa(),
	} {
		if file := source.GetFilename(); file != "" {
			out = append(out, file)
		}
	}
	return out
}

// load returns a secret with the content of its files. Its errors name the files, and never have content.
func load(named *tlsv3.Secret) (*tlsv3.Secret, error) {
	inline := func(from *corev3.DataSource) (*corev3.DataSource, []byte, error) {
		content, err := readFile(from.GetFilename())
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: content}}, content, err
	}
	out := proto.CloneOf(named)
	if v := out.GetValidationContext(); v != nil {
		source, content, err := inline(v.TrustedCa)
		if err != nil {
			return nil, err
		}
		if !x509.NewCertPool().AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("%s has no certificate in PEM format", v.TrustedCa.GetFilename())
		}
		v.TrustedCa, v.WatchedDirectory = source, nil
		return out, nil
	}
	c := out.GetTlsCertificate()
	chain, chainPEM, err := inline(c.GetCertificateChain())
	key, keyPEM, keyErr := inline(c.GetPrivateKey())
	if err := errors.Join(err, keyErr); err != nil {
		return nil, err
	}
	if _, err := tls.X509KeyPair(chainPEM, keyPEM); err != nil {
		return nil, fmt.Errorf("%s with %s: %w", c.CertificateChain.GetFilename(), c.PrivateKey.GetFilename(), err)
	}
	c.CertificateChain, c.PrivateKey, c.WatchedDirectory = chain, key, nil
	return out, nil
}

// states returns the state of each file; nil for one that cannot be found.
func states(files []string) []os.FileInfo {
	out := make([]os.FileInfo, len(files))
	for i, file := range files {
		if info, err := os.Stat(file); err == nil {
			out[i] = info
		}
	}
	return out
}

// unchanged reports whether two states of files are equal.
func unchanged(a, b []os.FileInfo) bool {
	return slices.EqualFunc(a, b, func(a, b os.FileInfo) bool {
		return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}
