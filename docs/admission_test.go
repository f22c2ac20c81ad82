package docs

import (
	"errors"
	"testing"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// Each rule refuses its own fault, by the field's path, and nothing else: the neighbour passes.
func TestWhatNoMeshCouldCarryIsRefused(t *testing.T) {
	for _, r := range carriedByNobody {
		t.Run(r.kind+" "+r.field, func(t *testing.T) {
			refused, err := r.object(r.refused)
			if err != nil {
				t.Fatal(err)
			}
			var refusal *appmesh.Refusal
			if err := appmesh.ValidateCreate(refused); !errors.As(err, &refusal) {
				t.Fatalf("%s\nis answered with %v", r.refused, err)
			}
			if f := refusal.Findings; len(f) != 1 || f[0].Path != r.field || f[0].Code != model.CodeInvalidField {
				t.Errorf("%s\ngot  %v\nwant %s", r.refused, refusal, r.field)
			}
			taken, err := r.object(r.taken)
			if err != nil {
				t.Fatal(err)
			}
			if err := appmesh.ValidateCreate(taken); err != nil {
				t.Errorf("%s\nis answered with %v", r.taken, err)
			}
			if r.field == "spec.awsName" {
				return // it cannot change
			}
			if err := appmesh.ValidateUpdate(refused, taken); err != nil {
				t.Errorf("the fault cannot be mended: %v", err)
			}
			if err := appmesh.ValidateUpdate(taken, refused); !errors.As(err, &refusal) {
				t.Errorf("the fault can be added by an update: %v", err)
			}
		})
	}
}
