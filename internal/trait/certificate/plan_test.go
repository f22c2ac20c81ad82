package certificate_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/internal/trait/certificate"
	"anymesh.dev/anymesh/internal/trait/providertest"
)

var request = certificate.Request{
	Namespace: "shop", Route: "web", Host: "shop.example.com", Labels: map[string]string{"a": "b"}, IssuerName: "letsencrypt",
}

func newCA(t *testing.T) *identity.CA {
	t.Helper()
	ca, err := identity.NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// secret returns the manifest of Secret shop/web-cert with a certificate.
func secret(t *testing.T, ca *identity.CA, host string, ttl time.Duration, metadata string) string {
	t.Helper()
	pair, err := ca.IssueServerKeyPair([]string{host}, ttl)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("---\n{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: web-cert%s}, data: "+
		"{tls.crt: %s, tls.key: %s, ca.crt: %s}}\n", metadata, encode(pair.CertificatePEM), encode(pair.KeyPEM),
		encode(pair.RootsPEM))
}

const (
	issuer        = "---\n{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {namespace: shop, name: letsencrypt}, status: {conditions: [{type: Ready, status: %q, message: Account unknown.}]}}\n"
	clusterIssuer = "---\n{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: letsencrypt}, status: {conditions: [{type: Ready, status: \"True\"}]}}\n"
	issued        = "---\n{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: shop, name: web-cert, generation: 2}, status: {conditions: [%s]}}\n"
	byUs          = ", labels: {anymesh.dev/issued-by: anymesh}"
	byCertManager = ", annotations: {cert-manager.io/certificate-name: web-cert}"
)

func TestMake(t *testing.T) {
	ca, other, now := newCA(t), newCA(t), time.Now()
	builtIn, typed := request, request
	builtIn.IssuerName = ""
	typed.IssuerType = "ClusterIssuer"
	ready := fmt.Sprintf(issuer, "True")
	for name, c := range map[string]struct {
		request     certificate.Request
		cluster     string
		certManager bool
		// want is the source, "issue", the reason and a part of the message, or the empty text.
		want string
	}{
		"no issuer exists":        {request, "", true, "CertManager NoIssuer there is no Issuer shop/letsencrypt; create it"},
		"a ClusterIssuer exists":  {request, clusterIssuer, true, "CertManager NoIssuer or set spec.tls.type to ClusterIssuer"},
		"no ClusterIssuer exists": {typed, ready, true, "CertManager NoIssuer there is no ClusterIssuer letsencrypt"},
		"issuer is not ready":     {request, fmt.Sprintf(issuer, "False"), true, "CertManager IssuerNotReady Issuer shop/letsencrypt is not ready: Account unknown"},
		"no Certificate yet":      {request, ready, true, "CertManager Creating Certificate shop/web-cert does not exist yet"},
		"Certificate is ready, and its first condition is another": {request, ready + fmt.Sprintf(issued,
			`{type: Issuing, status: "False"}, {type: Ready, status: "True", observedGeneration: 2}`), true, "CertManager"},
		"Certificate was ready before it changed": {request, ready + fmt.Sprintf(issued,
			`{type: Ready, status: "True", observedGeneration: 1}`), true, "CertManager CertificateNotReady has not seen the last change"},
		"Certificate failed": {request, ready + fmt.Sprintf(issued,
			`{type: Issuing, status: "False", message: The order failed.}, {type: Ready, status: "False", message: Does not exist}`), true,
			"CertManager CertificateNotReady Certificate shop/web-cert is not ready: Does not exist; The order failed"},
		"cert-manager replaces the built-in authority": {request, ready + secret(t, ca, "shop.example.com", time.Hour, byUs), true,
			"CertManager Creating"},
		"issuer without cert-manager": {request, secret(t, ca, "shop.example.com", time.Hour, byUs), false, "BuiltIn"},
		"no Secret":                   {builtIn, "", true, "BuiltIn issue Issuing has to write Secret shop/web-cert: it does not exist"},
		"valid":                       {builtIn, secret(t, ca, "shop.example.com", time.Hour, byUs), true, "BuiltIn"},
		"to be renewed": {builtIn, secret(t, ca, "shop.example.com", time.Second, byUs), true,
			"BuiltIn issue"}, // it is valid since two minutes ago, and still for a second
		"of another host":      {builtIn, secret(t, ca, "old.example.com", time.Hour, byUs), true, "BuiltIn issue Issuing is valid for old.example.com"},
		"of another authority": {builtIn, secret(t, other, "shop.example.com", time.Hour, byUs), true, "BuiltIn issue Issuing not of the built-in authority"},
		"broken":               {builtIn, "{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: web-cert" + byUs + "}, data: {tls.crt: YQ==}}", true, "BuiltIn issue Issuing the key tls.key is missing"},
		"built-in authority replaces cert-manager": {builtIn, secret(t, other, "shop.example.com", time.Hour, byCertManager), true,
			"BuiltIn issue Issuing"},
		"the user's":                    {request, secret(t, other, "*.example.com", time.Hour, ""), true, "User"},
		"the user's, without issuer":    {builtIn, secret(t, other, "shop.example.com", time.Hour, ""), false, "User"},
		"the user's, of another host":   {builtIn, secret(t, other, "a.example.org", time.Hour, ""), false, "User InvalidSecret valid for a.example.org"},
		"the user's, of a Certificate":  {builtIn, secret(t, other, "shop.example.com", time.Hour, ", annotations: {cert-manager.io/certificate-name: mine}"), true, "User"},
		"the user's, without key":       {builtIn, "{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: web-cert}}", true, "User InvalidSecret the key tls.crt is missing; repair or delete it"},
		"the user's, and not a keypair": {builtIn, "{apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: web-cert}, data: {tls.crt: YQ==, tls.key: YQ==}}", true, "User InvalidSecret failed to find any PEM data"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &providertest.Cluster{}
			if c.certManager {
				cluster.Kinds = []schema.GroupVersionKind{certificate.CertificateKind}
			}
			if err := cluster.Parse([]byte(c.cluster)); err != nil {
				t.Fatal(err)
			}
			plan := certificate.Make(c.request, cluster, ca.Bundle().Pool(), now)
			got := string(plan.Source)
			if plan.Issue {
				got += " issue"
			}
			if plan.Waiting != nil {
				got += " " + plan.Waiting.Reason
			}
			words, message := strings.Fields(c.want), ""
			for i, word := range words {
				if plan.Waiting != nil && word == plan.Waiting.Reason {
					message, words = strings.Join(words[i+1:], " "), words[:i+1]
					break
				}
			}
			if got != strings.Join(words, " ") || message != "" && !strings.Contains(plan.Waiting.Message, message) {
				t.Errorf("got %q (%+v), want %q", got, plan.Waiting, c.want)
			}
			checkPlan(t, c.request, plan, now)
		})
	}
}

// checkPlan checks what holds for all plans.
func checkPlan(t *testing.T, r certificate.Request, plan certificate.Plan, now time.Time) {
	t.Helper()
	if hasObjects := len(plan.Objects) == 1; hasObjects != (plan.Source == certificate.CertManager) {
		t.Errorf("%d objects of the source %s", len(plan.Objects), plan.Source)
	}
	if plan.Source != certificate.CertManager && plan.Waiting == nil && !plan.Issue && !plan.Due.After(now) {
		t.Errorf("the plan is due at %s", plan.Due)
	}
	if lossy := plan.Source == certificate.BuiltIn && r.IssuerName != ""; lossy != (len(plan.Unsupported) == 1) {
		t.Errorf("unsupported: %v", plan.Unsupported)
	}
}

func TestCertificateObject(t *testing.T) {
	cluster := &providertest.Cluster{Kinds: []schema.GroupVersionKind{certificate.CertificateKind}}
	plan := certificate.Make(request, cluster, newCA(t).Bundle().Pool(), time.Now())
	text, err := plan.Objects[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"labels":{"a":"b"},"name":"web-cert",` +
		`"namespace":"shop"},"spec":{"dnsNames":["shop.example.com"],"issuerRef":{"group":"cert-manager.io","kind":"Issuer",` +
		`"name":"letsencrypt"},"privateKey":{"algorithm":"ECDSA","rotationPolicy":"Always","size":256},` +
		`"secretName":"web-cert","usages":["digital signature","server auth"]}}`
	if got := strings.TrimSpace(string(text)); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// A certificate is renewed after two thirds of its life.
func TestRenewalTime(t *testing.T) {
	ca, now := newCA(t), time.Now()
	r := request
	r.IssuerName = ""
	cluster := &providertest.Cluster{}
	if err := cluster.Parse([]byte(secret(t, ca, r.Host, 90*time.Hour, byUs))); err != nil {
		t.Fatal(err)
	}
	due := certificate.Make(r, cluster, ca.Bundle().Pool(), now).Due
	if want := now.Add(60 * time.Hour); due.Sub(want).Abs() > 3*time.Minute {
		t.Errorf("due at %s, want about %s", due, want)
	}
	for at, want := range map[time.Duration]bool{-time.Second: false, time.Second: true} {
		plan := certificate.Make(r, cluster, ca.Bundle().Pool(), due.Add(at))
		if plan.Issue != want || plan.Waiting != nil {
			t.Errorf("%s after the renewal is due: issue %t, %v", at, plan.Issue, plan.Waiting)
		}
	}
	expired := certificate.Make(r, cluster, ca.Bundle().Pool(), now.Add(91*time.Hour))
	if !expired.Issue || expired.Waiting == nil || !strings.Contains(expired.Waiting.Message, "expired on") {
		t.Errorf("expired: %+v", expired)
	}
}
