package controlplane

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	osmconfig "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/model"
)

func enableRoots(t *testing.T, k *kubeAPI) {
	t.Helper()
	k.applyObject(t, &osmconfig.MeshConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: "osm-system", Name: "osm-mesh-config"},
		Spec: osmconfig.MeshConfigSpec{"featureFlags": {
			"enableMeshRootCertificate": apiextensionsv1.JSON{Raw: []byte("true")},
		}},
	})
}

func applyRoot(t *testing.T, k *kubeAPI, name, role string) {
	t.Helper()
	applyRootIn(t, k, name, role, "")
}

func applyRootIn(t *testing.T, k *kubeAPI, name, role, trustDomain string) {
	t.Helper()
	k.applyObject(t, &osmconfig.MeshRootCertificate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "osm-system", Name: name},
		Spec: osmconfig.MeshRootCertificateSpec{
			Role: role, TrustDomain: trustDomain, Provider: map[string]apiextensionsv1.JSON{"tresor": {Raw: []byte("{}")}},
		},
	})
}

// MeshRootCertificates rotate the root: each change of a role is followed, after all workloads know the last step.
func TestObjectsRotateTheRoot(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t)
	enableRoots(t, k)
	setRole := func(name, role string) { applyRoot(t, k, name, role) }
	setRole("one", "active")
	process := newAPIProcess(t, k)
	process.run()
	r := startReplicaWith(t, "a", process.address, func(cp *controlPlane) { cp.CertificateLifetime = 2 * time.Second })
	r.expectReady()
	first := r.caStore.Status().Roots[0].Fingerprint
	expect := func(phase identity.Phase, roots ...string) {
		t.Helper()
		var got []string
		r.eventually(fmt.Sprintf("%s with %v", phase, roots), func() bool {
			s := r.caStore.Status()
			got = nil
			for _, root := range s.Roots {
				got = append(got, path.Base(root.Name))
			}
			return s.Phase == phase && slices.Equal(got, roots)
		})
	}
	expect(identity.Steady, "one")
	setRole("two", "passive")
	expect(identity.Publishing, "one", "two")
	if r.caStore.Status().Roots[0].Fingerprint != first {
		t.Error("the active object has another root than the one in use")
	}
	second := r.caStore.Status().Roots[1].Fingerprint
	setRole("one", "passive")
	setRole("two", "active")
	expect(identity.Retiring, "two", "one")
	setRole("one", "inactive")
	expect(identity.Steady, "two")
	if r.caStore.Status().Roots[0].Fingerprint != second {
		t.Error("the root that signs was not published before")
	}
}

// An object that becomes active without having been passive has a finding until its root signs.
func TestRootThatDoesNotSignYet(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t)
	enableRoots(t, k)
	applyRoot(t, k, "one", "active")
	process := newAPIProcess(t, k)
	process.run()
	r := startReplica(t, "a", process.address)
	r.expectReady()
	waits := func(name string) bool {
		return slices.ContainsFunc(r.runtimeFindings(), func(f model.Finding) bool {
			return f.Object.Name == name && f.Severity == model.Info && strings.Contains(f.Text, "does not sign yet")
		})
	}
	r.eventually("the object has the root in use", func() bool {
		return path.Base(r.caStore.Status().Roots[0].Name) == "one" && !waits("one")
	})
	applyRoot(t, k, "one", "inactive")
	applyRoot(t, k, "two", "active")
	r.eventually("a finding", func() bool { return waits("two") && !waits("one") })
	expectText(t, r, k, "two", "does not sign yet")
}

// The first object is not for the root in use if it has another trust domain. The mesh has this domain from when the
// object names it, and as long as a root of it is trusted, also without the object.
func TestRootOfAnotherTrustDomain(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t, "one")
	enableRoots(t, k)
	applyRootIn(t, k, "one", "active", "next.example")
	process := newAPIProcess(t, k)
	process.run()
	r := startReplicaWith(t, "a", process.address, func(cp *controlPlane) { cp.CertificateLifetime = 2 * time.Second })
	r.expectReady()
	aliases := func() []string {
		state := r.engine.State()
		if state == nil || len(state.Index.Model.Meshes) == 0 {
			return nil
		}
		return state.Index.Model.Meshes[0].TrustDomainAliases
	}
	r.eventually("the mesh has both domains", func() bool { return slices.Equal(aliases(), []string{"next.example"}) })
	expectText(t, r, k, "one", "does not sign yet")
	r.eventually("its root signs", func() bool {
		s := r.caStore.Status()
		return s.TrustDomain == "next.example" && s.Phase == identity.Steady && path.Base(s.Roots[0].Name) == "one"
	})
	applyRootIn(t, k, "one", "inactive", "next.example")
	r.eventually("no object plans a root", func() bool { return len(r.roots()) == 0 })
	if got := aliases(); !slices.Equal(got, []string{"next.example"}) {
		t.Errorf("without the object, the mesh has %v", got)
	}
}

// expectText waits until the condition of a root has a text.
func expectText(t *testing.T, r *replica, k *kubeAPI, name, text string) {
	t.Helper()
	r.eventually("the condition of "+name+" says: "+text, func() bool {
		o := k.getObject(t, &osmconfig.MeshRootCertificate{ObjectMeta: metav1.ObjectMeta{Namespace: "osm-system", Name: name}})
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return strings.Contains(fmt.Sprint(conditions), text)
	})
}

// A passive object whose root is not published, since two others are trusted, has a finding.
func TestThirdRootWaits(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t)
	enableRoots(t, k)
	applyRoot(t, k, "one", "active")
	applyRoot(t, k, "two", "passive")
	process := newAPIProcess(t, k)
	process.run()
	r := startReplica(t, "a", process.address)
	r.expectReady()
	r.eventually("two roots", func() bool { return len(r.caStore.Status().Roots) == 2 })
	waiting := func() (names []string) {
		for _, f := range r.runtimeFindings() {
			if f.Severity == model.Warning && strings.Contains(f.Text, "at most two roots") {
				names = append(names, f.Object.Name)
			}
		}
		return names
	}
	if got := waiting(); got != nil {
		t.Errorf("findings of %v", got)
	}
	applyRoot(t, k, "three", "passive")
	r.eventually("a finding", func() bool { return slices.Equal(waiting(), []string{"three"}) })
	expectText(t, r, k, "three", "at most two roots")
}

// A rotation waits for certificates that live for longer than configured.
func TestRotationKnowsLongCertificates(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t)
	k.applyObject(t, &osmconfig.MeshConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: "osm-system", Name: "osm-mesh-config"},
		Spec: osmconfig.MeshConfigSpec{"certificate": {
			"serviceCertValidityDuration": apiextensionsv1.JSON{Raw: []byte(`"48h"`)},
		}},
	})
	k.applyObject(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", Labels: map[string]string{"openservicemesh.io/monitored-by": "osm"},
	}})
	process := newAPIProcess(t, k)
	process.run()
	r := startReplica(t, "a", process.address)
	r.expectReady()
	if got := r.certificateLifetime("shop"); got != 48*time.Hour {
		t.Fatalf("certificates live for %s", got)
	}
	r.eventually("the lifetime is stored", func() bool {
		secret := k.getObject(t, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "anymesh-system", Name: identity.CASecret},
		})
		return secret.GetAnnotations()["anymesh.dev/longest-lifetime"] == "48h0m0s"
	})
}

// Objects have a finding if the root is that of a user, which the control plane does not rotate.
func TestObjectsForTheRootOfAUser(t *testing.T) {
	t.Parallel()
	own, err := identity.NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	key, err := own.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	k := newPopulatedAPI(t)
	k.applyObject(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "anymesh-system", Name: identity.CASecret},
		Data:       map[string][]byte{corev1.TLSCertKey: own.CertificatePEM(), corev1.TLSPrivateKeyKey: key},
	})
	enableRoots(t, k)
	applyRoot(t, k, "one", "active")
	process := newAPIProcess(t, k)
	process.run()
	r := startReplica(t, "a", process.address)
	r.expectReady()
	r.eventually("a finding", func() bool {
		return slices.ContainsFunc(r.runtimeFindings(), func(f model.Finding) bool {
			return f.Object.Name == "one" && strings.Contains(f.Text, "not managed")
		})
	})
}

// A new root signs as soon as its role is due and all pods with a sidecar have confirmed it: here, there are none.
func TestRootSignsWhenItIsTrusted(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t)
	enableRoots(t, k)
	applyRoot(t, k, "one", "active")
	applyRoot(t, k, "two", "passive")
	process := newAPIProcess(t, k)
	process.run()
	r := startReplica(t, "a", process.address) // certificates of 24 hours
	r.expectReady()
	r.eventually("the root of two is published", func() bool {
		s := r.caStore.Status()
		return s.Phase == identity.Publishing && s.Unconfirmed != nil && *s.Unconfirmed == 0
	})
	applyRoot(t, k, "one", "passive")
	applyRoot(t, k, "two", "active")
	r.eventually("the root of two signs", func() bool {
		return r.caStore.Status().Phase == identity.Retiring && path.Base(r.caStore.Status().Roots[0].Name) == "two"
	})
}
