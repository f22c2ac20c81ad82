package admission_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/osm"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/admission"
)

func rootText(name, role string) string {
	return fmt.Sprintf(`{"apiVersion": "config.openservicemesh.io/v1alpha2", "kind": "MeshRootCertificate",
		"metadata": {"namespace": "osm-system", "name": %q}, "spec": {"role": %q, "provider": {"tresor": {}}}}`, name, role)
}

func reviewRoot(t *testing.T, h http.Handler, object, old string) *admissionv1.AdmissionResponse {
	t.Helper()
	request := map[string]any{"uid": "1", "operation": "CREATE", "namespace": "osm-system",
		"object": json.RawMessage(object)}
	if old != "" {
		request["operation"], request["oldObject"] = "UPDATE", json.RawMessage(old)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request,
	})
	if err != nil {
		t.Fatal(err)
	}
	var review admissionv1.AdmissionReview
	answer := post(h, "/validate-config-openservicemesh-io-v1alpha2-meshrootcertificate", body)
	if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("status %d, %v: %s", answer.Code, err, answer.Body)
	}
	return review.Response
}

// lateCache changes after its objects were read.
type lateCache struct {
	*engine.Engine
	late func()
}

func (c *lateCache) ObjectsOf(kind client.Object) []client.Object {
	defer c.late()
	return c.Engine.ObjectsOf(kind)
}

// An object is judged beside the others of its kind, also if one of them was changed so recently that the cache does
// not have it yet.
func TestRefusedBesideOthers(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := config.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	dialects, waiting := []dialect.Dialect{osm.Dialect{}}, admission.NewWaiting(prometheus.NewRegistry())
	e := engine.New(slog.New(slog.DiscardHandler), dialects, engine.Settings{})
	store := func(text string) client.Object {
		o := &config.MeshRootCertificate{}
		if err := yaml.Unmarshal([]byte(text), o); err != nil {
			t.Fatal(err)
		}
		e.Set(o)
		return o
	}
	store(rootText("one", "active"))
	store(rootText("two", "passive"))
	e.Sync()
	cache := &lateCache{e, func() {}}
	mux := http.NewServeMux()
	if err := admission.Handle(mux, admission.Options{
		Dialects: dialects, Scheme: scheme, Cache: cache, Waiting: waiting,
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ object, old, want string }{
		{rootText("one", "inactive"), rootText("one", "active"), "cannot change from active to inactive"},
		{rootText("two", "active"), rootText("two", "passive"), "only one object can be active"},
		{rootText("three", "passive"), "", "at most 2 objects"},
		{rootText("three", "inactive"), "", ""},
		{rootText("one", "passive"), rootText("one", "active"), ""},
	} {
		got := reviewRoot(t, mux, c.object, c.old)
		if got.Allowed != (c.want == "") || !strings.Contains(message(*got), c.want) {
			t.Errorf("%s: got %v %q, want %q", c.object, got.Allowed, message(*got), c.want)
		}
	}
	cache.late = sync.OnceFunc(func() {
		o := store(rootText("one", "passive"))
		e.Sync()
		waiting.Changed(o)
	})
	if got := reviewRoot(t, mux, rootText("two", "active"), rootText("two", "passive")); !got.Allowed {
		t.Errorf("the first object is passive now: %q", message(*got))
	}
}
