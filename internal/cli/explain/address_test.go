package explain

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/engine"
)

// If the range of reserved addresses is full, some names do not resolve, and explain says so.
func TestNoReservedAddressLeft(t *testing.T) {
	front := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "front"}}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, front,
		&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}}},
	}
	const services, addresses = 20, 15 // the first address of the range is not used
	for i := range services {
		name := fmt.Sprintf("s%d", i)
		objects = append(objects, &api.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}})
		front.Spec.Backends = append(front.Spec.Backends, api.Backend{VirtualService: api.VirtualServiceBackend{
			VirtualServiceRef: &api.VirtualServiceReference{Name: name},
		}})
	}
	s := engine.Compute(dialect.All(), engine.Settings{
		ReservedRanges: []netip.Prefix{netip.MustParsePrefix("240.240.0.0/28")},
	}, objects)
	w, err := lookup.FindWorkload(s, "demo/front", "")
	if err != nil {
		t.Fatal(err)
	}
	resolved := 0
	for i := range services {
		host := fmt.Sprintf("s%d.demo", i)
		r, err := ParseRequest("", "http://"+host, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		a := From(s, w, r)
		want := "no Service is called " + host + ", and no reserved address is left"
		if !a.Unresolved {
			resolved++
			want = "no Service is called " + host + ": the agent answers the reserved address " + a.Request.Address.String()
		}
		step := a.Decision.Steps[0]
		if step.Text != want || !strings.HasSuffix(step.Origin.String(), fmt.Sprintf("demo/s%d", i)) {
			t.Errorf("got  %s (%s)\nwant %s", step.Text, step.Origin, want)
		}
		if a.Unresolved && a.Delivered() {
			t.Errorf("%s does not resolve, but the request is delivered", host)
		}
	}
	if resolved != addresses {
		t.Errorf("%d names resolve, want %d", resolved, addresses)
	}
}
