package model_test

import (
	"reflect"
	"testing"

	"anymesh.dev/anymesh/model"
)

func TestTrustDomainID(t *testing.T) {
	for name, want := range map[string]string{
		"spiffe://example.org":            "spiffe://example.org",
		"spiffe://example.org/ns/a/sa/b":  "spiffe://example.org",
		"spiffe://example.org/":           "spiffe://example.org",
		"spiffe://":                       "",
		"spiffe:///path":                  "",
		"example.org":                     "",
		"https://example.org/spiffe://no": "",
		"":                                "",
	} {
		got, ok := model.TrustDomainID(name)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %q, %v, want %q", name, got, ok, want)
		}
	}
}

// The name of a secret tells what is in it only if it is a SPIFFE ID.
func TestContentOfSecrets(t *testing.T) {
	for name, want := range map[string]model.Handshake{
		"spiffe://a/b": {Authority: "spiffe://a", Names: []string{"spiffe://a/b"}},
		"default":      {},
	} {
		s := model.Secret{Provider: model.ProviderSocket, Name: name}
		if got := s.Content(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// A validation with a secret accepts certificates of its trust domain only.
func TestTrustInSecrets(t *testing.T) {
	client := &model.ClientTLS{Validation: &model.Validation{
		TrustSecret: model.Secret{Provider: model.ProviderMesh, Name: "spiffe://a"}, Names: []string{"spiffe://a/b"},
	}}
	for _, c := range []struct {
		server string
		ok     bool
		why    string
	}{
		{"spiffe://a/b", true, "the certificate is valid"},
		{"spiffe://a/c", false, "the certificate has none of the names spiffe://a/b"},
		{"spiffe://b/b", false, "no authority in spiffe://a issued the certificate"},
	} {
		if ok, why := client.Accepts(model.Secret{Name: c.server}.Content()); ok != c.ok || why != c.why {
			t.Errorf("%s: got %v, %q, want %v, %q", c.server, ok, why, c.ok, c.why)
		}
	}
}
