package appmesh_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// result is the model, the findings and the status of each object.
type result struct {
	Model    model.Model
	Findings []model.Finding
	Statuses map[string]client.Object
}

func resultOf(t *testing.T, d appmesh.Dialect, objects []client.Object) string {
	m, findings := d.Translate(objects)
	status := d.Statuses(objects, findings)
	out := result{m, findings, map[string]client.Object{}}
	for _, o := range objects {
		out.Statuses[o.GetObjectKind().GroupVersionKind().Kind+" "+o.GetNamespace()+"/"+o.GetName()] = status(o, someTime)
	}
	return asJSON(t, out)
}

func TestStatusesDoNotDependOnOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, path := range caseFiles(t) {
		c := readCase(t, path)
		d := appmesh.Dialect{Settings: c.settings}
		want := resultOf(t, d, c.objects)
		for range 20 {
			random.Shuffle(len(c.objects), func(i, j int) { c.objects[i], c.objects[j] = c.objects[j], c.objects[i] })
			if diff := cmp.Diff(want, resultOf(t, d, c.objects)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", path, diff)
			}
		}
	}
}
