package fleet

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// write creates an object, or changes the content, the labels and the annotations of the existing one. Labels and
// annotations that only the existing one has stay.
func write[O client.Object, S any](
	ctx context.Context, t takeover, o, existing O, found bool, content, existingContent *S,
) (string, error) {
	if !found {
		if t.dryRun {
			return Created, nil
		}
		if err := t.to.Create(ctx, o); err != nil {
			return "", fmt.Errorf("creating %T %s: %w", o, o.GetName(), err)
		}
		return Created, nil
	}
	labels, sameLabels := merged(existing.GetLabels(), o.GetLabels())
	annotations, sameAnnotations := merged(existing.GetAnnotations(), o.GetAnnotations())
	if sameLabels && sameAnnotations && equality.Semantic.DeepEqual(*content, *existingContent) {
		return Unchanged, nil
	}
	if t.dryRun {
		return Changed, nil
	}
	existing.SetLabels(labels)
	existing.SetAnnotations(annotations)
	*existingContent = *content
	if err := t.to.Update(ctx, existing); err != nil {
		return "", fmt.Errorf("changing %T %s: %w", o, o.GetName(), err)
	}
	return Changed, nil
}

// merged returns old with the entries of now, and whether old has them already.
func merged(old, now map[string]string) (map[string]string, bool) {
	all := maps.Clone(old)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, now)
	return all, maps.Equal(all, old)
}
