// Package trait tests Routes with a real API server. Nothing acts on its objects besides the controller of Routes.
//
// The programs are in the folder named by ANYMESH_BIN, or in bin.
package trait

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/api/crds"
	"anymesh.dev/anymesh/internal/cli/install"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

// lab is the API server that the tests share.
var lab struct {
	config *rest.Config
	client client.Client
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/trait:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (code int, err error) {
	bin := os.Getenv("ANYMESH_BIN")
	if bin == "" {
		bin = "../../../bin"
	}
	dir, err := os.MkdirTemp("", "anymesh-trait-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	sandbox := func(arguments ...string) error {
		c := exec.Command(filepath.Join(bin, "anymesh-sandbox"), append(arguments, "--name", fmt.Sprintf("trait-%d", os.Getpid()),
			"--dir", dir)...)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", c, err, out)
		}
		return nil
	}
	defer func() {
		if downErr := sandbox("down"); err == nil {
			err = downErr
		}
	}()
	if err := sandbox("up", "--api-server-only"); err != nil {
		return 1, err
	}
	if lab.config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "c1.kubeconfig")); err != nil {
		return 1, err
	}
	lab.config.QPS, lab.config.WarningHandler = -1, rest.NoWarnings{}
	if lab.client, err = client.New(lab.config, client.Options{}); err != nil {
		return 1, err
	}
	if err := installKinds(); err != nil {
		return 1, err
	}
	if err := installRules(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// installKinds applies the CustomResourceDefinitions of Anymesh.
func installKinds() error {
	files, err := crds.Files.ReadDir(".")
	if err != nil {
		return err
	}
	for _, f := range files {
		if !strings.Contains(f.Name(), "oam.dev") {
			continue
		}
		text, err := crds.Files.ReadFile(f.Name())
		if err != nil {
			return err
		}
		if err := applyAll(context.Background(), string(text), ""); err != nil {
			return err
		}
	}
	return nil
}

// installRules applies the roles of the chart.
func installRules() error {
	objects, err := install.Manifests(install.Options{
		Namespace: "anymesh-system", SkipCRDs: true, Values: map[string]any{"routeTrait": map[string]any{"enabled": true}},
	})
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !strings.HasPrefix(o.GetKind(), "ClusterRole") {
			continue
		}
		role := client.ApplyConfigurationFromUnstructured(o)
		if err := lab.client.Apply(context.Background(), role, client.FieldOwner("install")); err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// asControlPlane returns the configuration of a client with the rights of the control plane.
func asControlPlane() *rest.Config {
	config := rest.CopyConfig(lab.config)
	config.Impersonate.UserName = "system:serviceaccount:anymesh-system:anymesh"
	return config
}

// decode decodes manifests.
func decode(manifests string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, text := range strings.Split("\n"+manifests, "\n---\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		json, err := utilyaml.ToJSON([]byte(text))
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(json); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, text)
		}
		out = append(out, o)
	}
	return out, nil
}

// applyAll applies manifests as a user. A namespace, if it is not empty, is that of all objects.
func applyAll(ctx context.Context, manifests, namespace string) error {
	objects, err := decode(manifests)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if namespace != "" {
			o.SetNamespace(namespace)
		}
		deadline := time.Now().Add(2 * time.Minute)
		for {
			manifest := client.ApplyConfigurationFromUnstructured(o.DeepCopy())
			err = lab.client.Apply(ctx, manifest, client.FieldOwner("user"), client.ForceOwnership)
			if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) || time.Now().After(deadline) {
				break
			}
			time.Sleep(50 * time.Millisecond) // a kind that is not served yet
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// apply applies manifests in a namespace.
func apply(t *testing.T, namespace, manifests string) {
	t.Helper()
	if err := applyAll(t.Context(), manifests, namespace); err != nil {
		t.Fatal(err)
	}
}

// newNamespace creates a namespace with the ServiceAccount of pods.
func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "trait-"}}
	if err := lab.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}}
	if err := lab.client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// get reads an object, or returns nil.
func get(t *testing.T, apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	err := lab.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// remove deletes an object.
func remove(t *testing.T, apiVersion, kind, namespace, name string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	if err := lab.client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// eventually polls until check returns nil, and fails with its last error.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
