package check

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/api/crds"
	"anymesh.dev/anymesh/internal/build"
	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/delivery/xds/clientstatus"
	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/model"
)

// Every check has a function and documentation, and its required check always runs before it.
func TestCheckTableIsComplete(t *testing.T) {
	seen := map[Code]Stage{}
	page := Page(dialect.All())
	for _, c := range Checks(dialect.All()) {
		if c.Title == "" || c.Meaning == "" || c.Remedy == "" || c.run == nil {
			t.Errorf("%s: title, meaning, remedy or function is missing", c.Code)
		}
		if seen[c.Code] != "" {
			t.Errorf("duplicate code %s", c.Code)
		}
		if needed := seen[c.Needs]; c.Needs != "" && needed != Always && needed != c.Stage {
			t.Errorf("%s requires %s, which does not run before it", c.Code, c.Needs)
		}
		seen[c.Code] = c.Stage
		if !strings.Contains(page, "## "+string(c.Code)+"\n") || !strings.Contains(page, "(#"+anchor(c.Code)+")") {
			t.Errorf("%s is not in docs/check.md", c.Code)
		}
	}
}

// A failed check skips its dependent checks; a warning does not.
func TestDependentChecksAreSkipped(t *testing.T) {
	original := common
	t.Cleanup(func() { common = original })
	returns := func(err error) func(context.Context, *Cluster) (string, error) {
		return func(context.Context, *Cluster) (string, error) { return "", err }
	}
	common = []Check{
		{Code: "A", Stage: Always, run: returns(errors.New("no")), Meaning: "m", Remedy: "r"},
		{Code: "B", Stage: After, Needs: "A", run: returns(nil)},
		{Code: "C", Stage: After, Needs: "B", run: returns(nil)},
		{Code: "D", Stage: After, run: returns(warn("careful"))},
		{Code: "E", Stage: After, Needs: "D", run: returns(nil)},
		{Code: "F", Stage: Before, run: returns(nil)},
		{Code: "G", Stage: After, run: returns(fmt.Errorf("pods: %w",
			apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))))},
		{Code: "H", Stage: After, Needs: "G", run: returns(nil)},
	}
	var began, got []string
	results := Run(t.Context(), &Cluster{}, After, func(title string) { began = append(began, title) },
		func(r Result) { got = append(got, string(r.Code)+" "+string(r.Status)) })
	if want := []string{"A failed", "B skipped", "C skipped", "D warning", "E passed", "G forbidden", "H skipped"}; !slices.Equal(got, want) ||
		len(began) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if Count(results, Failed) != 1 || Count(results, Warned) != 1 || results[0].Page != build.DocsURL+"check#a" ||
		results[0].Remedy != "r" {
		t.Errorf("results: %+v", results)
	}
}

func TestMinVersion(t *testing.T) {
	for version, supported := range map[string]bool{
		"v1.29.15": false, "v1.30.0": true, "v1.36.3": true, "v1.31.2-eks-7f9249a": true, "nonsense": false,
	} {
		t.Run(version, func(t *testing.T) {
			if err := minVersion(version); (err == nil) != supported {
				t.Errorf("got error %v, want supported = %v", err, supported)
			}
		})
	}
}

func TestCRDFault(t *testing.T) {
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	want := all[0]
	for fault, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"":                   func(*apiextensionsv1.CustomResourceDefinition) {},
		"is not established": func(d *apiextensionsv1.CustomResourceDefinition) { d.Status.Conditions = nil },
		"does not serve":     func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Served = false },
		"has a different schema": func(d *apiextensionsv1.CustomResourceDefinition) {
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		},
	} {
		t.Run(fault, func(t *testing.T) {
			have := want.DeepCopy()
			have.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			}
			change(have)
			if got := definitionFault(want, have); fault == "" && got != "" || !strings.Contains(got, fault) {
				t.Errorf("got %q, want %q", got, fault)
			}
		})
	}
	if got := definitionFault(want, nil); !strings.HasSuffix(got, "is missing") {
		t.Errorf("got %q", got)
	}
}

func caBundle(t *testing.T, from, to time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mesh"}, NotBefore: from, NotAfter: to,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func newAuthority(t *testing.T) *identity.Bundle {
	t.Helper()
	ca, err := identity.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	roots, err := identity.ParseBundle(ca.CertificatePEM())
	if err != nil {
		t.Fatal(err)
	}
	return roots
}

func TestBundleValidity(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	long := caBundle(t, now.Add(-day), now.Add(365*day))
	if detail, err := bundleValidity(long, now); err != nil || detail != "until 2027-11-21" {
		t.Errorf("%q, %v", detail, err)
	}
	var w warning
	if _, err := bundleValidity(slices.Concat(long, caBundle(t, now.Add(-day), now.Add(7*day))),
		now); !errors.As(err, &w) {
		t.Errorf("a CA that expires soon: got %v, want a warning", err)
	}
	for _, bundle := range [][]byte{caBundle(t, now.Add(-day),
		now.Add(-time.Hour)), caBundle(t, now.Add(day), now.Add(2*day)), []byte("nothing")} {
		if _, err := bundleValidity(bundle, now); err == nil || errors.As(err, &w) {
			t.Errorf("an invalid bundle: got %v, want an error", err)
		}
	}
}

// agent is the container of a sidecar.
func agent(env ...corev1.EnvVar) corev1.Container {
	return corev1.Container{Name: "envoy", Command: []string{"anymesh", "agent"}, Env: env}
}

// state has two running pods of one workload, one of them without a sidecar, and one terminated pod.
func state() *engine.State {
	pod := func(name string, injected bool, phase corev1.PodPhase) *corev1.Pod {
		p := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		p.Name, p.Namespace, p.UID, p.Labels = name, "demo", types.UID("uid of "+name), map[string]string{"app": "a"}
		if injected {
			p.Spec.InitContainers = []corev1.Container{agent()}
		}
		return p
	}
	mesh := &api.Mesh{
		ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
	}
	node := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "demo"}, Spec: api.VirtualNodeSpec{
		PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
	}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	return engine.Compute(dialect.All(), engine.Settings{}, []client.Object{mesh, namespace, node,
		pod("meshed", true, corev1.PodRunning), pod("bare", false, corev1.PodRunning),
		pod("ended", true, corev1.PodSucceeded),
	})
}

func TestPodsWithoutConnectedSidecarFail(t *testing.T) {
	s := state()
	cluster := withSidecars(s)
	var w warning
	if _, err := injected(t.Context(), cluster); !errors.As(err, &w) ||
		!strings.Contains(w.text, "1 pod is without a sidecar: demo/bare (injection is not enabled in namespace demo; ") {
		t.Errorf("injected: %v", err)
	}
	current, earlier := newAuthority(t), newAuthority(t)
	if _, err := missing(s, nil, current); err == nil ||
		err.Error() != "1 of 1 sidecars are not connected: demo/meshed" {
		t.Errorf("missing: %v", err)
	}
	sidecar := func(uid, pod string) inspect.Sidecar {
		return inspect.Sidecar{Pod: pod, Client: clientstatus.Client{Identity: uid}}
	}
	meshed := sidecar("uid of meshed", "demo/meshed")
	if detail, err := missing(s, []inspect.Sidecar{meshed}, current); err != nil || detail != "1 of 1" {
		t.Errorf("missing: %q, %v", detail, err)
	}
	detail, err := missing(s, []inspect.Sidecar{meshed, sidecar("2", "demo/other")}, current)
	if err != nil || detail != "1 of 1, and 1 of pods of no workload: demo/other" {
		t.Errorf("missing: %q, %v", detail, err)
	}
	root := string(earlier.PEM())
	for name, set := range map[string]func(*corev1.Pod){
		"in a variable": func(p *corev1.Pod) {
			p.Annotations = nil
			p.Spec.InitContainers = []corev1.Container{agent(corev1.EnvVar{Name: "ANYMESH_FILE_root.pem", Value: root})}
		},
		"of a gateway": func(p *corev1.Pod) {
			p.Annotations, p.Spec.InitContainers = nil, nil
			p.Spec.Containers = []corev1.Container{agent(corev1.EnvVar{Name: "ANYMESH_FILE_root.pem", Value: root})}
		},
		"in the annotation of older versions": func(p *corev1.Pod) {
			p.Annotations = map[string]string{"anymesh.dev/file.root.pem": root}
			p.Spec.InitContainers = []corev1.Container{agent()}
		},
	} {
		for _, o := range s.Objects {
			if o.GetName() == "meshed" {
				set(o.(*corev1.Pod))
			}
		}
		if _, err := missing(s, nil, current); err == nil ||
			!strings.Contains(err.Error(), "another authority: restart these workloads") || !strings.HasSuffix(err.Error(), ": demo/meshed") {
			t.Errorf("%s: pod of another authority: %v", name, err)
		}
		if _, err := missing(s, nil, earlier); err == nil || strings.Contains(err.Error(), "another authority") {
			t.Errorf("%s: pod of the same authority: %v", name, err)
		}
		if detail, err := injected(t.Context(), withSidecars(s, sidecar("uid of bare", "demo/bare"))); err != nil || detail != "2 pods" {
			t.Errorf("%s: injected: %q, %v", name, detail, err)
		}
	}
}

func TestRejectedConfigurationFails(t *testing.T) {
	nack := &clientstatus.Nack{Names: []string{"cds_x"}, Message: "bad"}
	rejected := inspect.Sidecar{
		Pod: "demo/a",
		Client: clientstatus.Client{
			Types: []clientstatus.ClientType{{SentVersion: "2", AckedVersion: "1", LastNack: nack}},
		},
	}
	synced := inspect.Sidecar{
		Pod:    "demo/b",
		Client: clientstatus.Client{Types: []clientstatus.ClientType{{SentVersion: "2", AckedVersion: "2"}}},
	}
	if err := outOfSync([]inspect.Sidecar{synced, rejected}); err == nil ||
		err.Error() != "demo/a: rejected cds_x: bad" {
		t.Errorf("got %v", err)
	}
	if err := outOfSync([]inspect.Sidecar{synced}); err != nil {
		t.Error(err)
	}
}

func TestFindingsGiveWarning(t *testing.T) {
	at := model.NewOrigin(model.ObjectRef{Kind: "Mesh", Name: "m"})
	_, err := countFindings([]model.Finding{
		model.NewFinding(at, model.CodeNoMesh, "x"), model.NewFinding(at, model.CodeFieldNotImplemented, "y"),
	})
	var w warning
	if !errors.As(err, &w) || w.text != "1 error, 1 warning: Mesh m (2)" {
		t.Errorf("got %v", err)
	}
	if detail, err := countFindings(nil); err != nil || detail != "no findings" {
		t.Errorf("%q, %v", detail, err)
	}
}
