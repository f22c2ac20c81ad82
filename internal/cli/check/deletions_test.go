package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
)

func TestDeletions(t *testing.T) {
	now := time.Unix(10_000, 0)
	gateway := func(name, finalizer string, age time.Duration) client.Object {
		g := &api.VirtualGateway{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Finalizers: []string{finalizer}}}
		if age > 0 {
			g.DeletionTimestamp = new(metav1.NewTime(now.Add(-age)))
		}
		return g
	}
	const ours = api.FinalizerVirtualGatewayMembers
	others := []client.Object{gateway("live", ours, 0), gateway("young", ours, 30*time.Second), gateway("other", "example.com/x", time.Hour)}
	var many []client.Object
	for i := range mostDeletions + 3 {
		many = append(many, gateway(fmt.Sprintf("g%d", i), api.FinalizerAWSResources, time.Hour))
	}
	for name, c := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"none":     {others, "<nil>"},
		"one":      {append(others, gateway("old", ours, time.Hour)), "being deleted: VirtualGateway a/old (1h0m0s)"},
		"too many": {many, "and 3 more"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme, err := dialect.NewScheme()
			if err != nil {
				t.Fatal(err)
			}
			cluster := &Cluster{
				Client:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.objects...).Build(),
				Dialects: dialect.All(), Now: now,
			}
			_, err = deletions(t.Context(), cluster)
			if got := fmt.Sprint(err); !strings.HasSuffix(got, c.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
