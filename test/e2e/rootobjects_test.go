package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// rootObject is a MeshRootCertificate with a role. That of root-2 is in another trust domain than the mesh.
func rootObject(name, role string) string {
	domain := map[string]string{"root-2": "next.example"}[name]
	return fmt.Sprintf(`
apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshRootCertificate
metadata: {name: %s, namespace: bookshop}
spec: {role: %s, trustDomain: %q, provider: {tresor: {ca: {secretRef: {name: %[1]s, namespace: bookshop}}}}}
---
`, name, role, domain)
}

// refuse applies manifests that the API server refuses with a text.
func refuse(t *testing.T, manifests, text string) {
	t.Helper()
	out, err := kubectlInput(t.Context(), manifests, "apply", "-f", "-")
	if err == nil || !strings.Contains(out+err.Error(), text) {
		t.Errorf("got %q, %v, want a refusal with %q", out, err, text)
	}
}

// TestObjectsRotateTheRootUnderLoad replaces the root by MeshRootCertificates, in the steps of the documentation of
// Open Service Mesh, while a member calls another one: all their connections use mutual TLS. No request may fail. The
// certificates live for seconds, so that all of them are replaced in each step. The new root is in another trust
// domain: meanwhile, policies and the names of servers hold for the identities of both.
func TestObjectsRotateTheRootUnderLoad(t *testing.T) {
	ownCluster(t, "roots", "--set", "certificateLifetime=12s", "--set", "rootLifetime=1h", "--set", "replicas=2")
	apply(t, osmManifests)
	run(t, "-n", "bookshop", "patch", "meshconfig", "osm-mesh-config", "--type=merge", "-p",
		`{"spec":{"featureFlags":{"enableMeshRootCertificate":true}}}`)
	apply(t, rootObject("root-1", "active"))
	for _, name := range []string{"bookstore", "bookbuyer", "bookthief"} {
		waitReady(t, "bookshop", "deployment/"+name)
	}
	eventually(t, 20*time.Second, "bookbuyer calls "+booksURL, func() error {
		o, err := callFromIn(t.Context(), "bookshop", "bookbuyer", booksURL)
		return want(o, err, o.Status == 200, "another status")
	})
	steadyCalls{"bookshop", "bookbuyer", []string{booksURL}, []string{"v1"}}.during(t, func() {
		first := awaitPhase(t, "Steady", 1).Roots[0].Fingerprint
		apply(t, rootObject("root-2", "passive"))
		published := awaitPhase(t, "Publishing", 2)
		if published.Roots[0].Fingerprint != first {
			t.Errorf("the new root signs while its object is passive: %+v", published)
		}
		refuse(t, rootObject("root-2", "active"), "only one object can be active")
		refuse(t, rootObject("root-1", "inactive"), "cannot change from active to inactive")
		refuse(t, rootObject("root-3", "passive"), "at most 2 objects")
		refuse(t, strings.ReplaceAll(rootObject("root-1", "active"), "tresor", "vault"), "cannot be changed")
		apply(t, rootObject("root-1", "passive")+rootObject("root-2", "active"))
		retiring := awaitPhase(t, "Retiring", 2)
		if retiring.Roots[0].Fingerprint != published.Roots[1].Fingerprint {
			t.Errorf("another root signs than the one that was published: %+v", retiring)
		}
		if retiring.TrustDomain != "next.example" {
			t.Errorf("certificates have identities of %s", retiring.TrustDomain)
		}
		apply(t, rootObject("root-1", "inactive"))
		if s := awaitPhase(t, "Steady", 1); s.Roots[0].Fingerprint != retiring.Roots[0].Fingerprint {
			t.Errorf("trusted roots after the rotation: %+v", s)
		}
		run(t, "-n", "bookshop", "delete", "meshrootcertificate", "root-1")
	})
	wantOutput(t, []string{"root-2"}, "identity", "status")
	eventually(t, time.Minute, "bookthief is refused by its new identity", func() error {
		o, err := callFromIn(t.Context(), "bookshop", "bookthief", booksURL)
		return want(o, err, o.Status == 403, "another status")
	})
}
