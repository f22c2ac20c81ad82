package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/cli/install"
)

// deletionDelay is the age of a deletion from which the check reports it, and mostDeletions limits the objects in the
// result.
const (
	deletionDelay = time.Minute
	mostDeletions = 10
)

// deletions reports objects that are being deleted and that a finalizer of a dialect keeps.
func deletions(ctx context.Context, c *Cluster) (string, error) {
	var kept []string
	err := install.EachFinalized(ctx, c.Client, c.Dialects, func(o *metav1.PartialObjectMetadata, _ []string) error {
		if at := o.DeletionTimestamp; at != nil && c.Now.Sub(at.Time) >= deletionDelay {
			kept = append(kept, fmt.Sprintf("%s (%v)", install.FinalizedName(o), c.Now.Sub(at.Time).Round(time.Second)))
		}
		return nil
	})
	if err != nil {
		return "", warn("%v", err)
	}
	if len(kept) == 0 {
		return "", nil
	}
	slices.Sort(kept)
	if more := len(kept) - mostDeletions; more > 0 {
		kept = append(kept[:mostDeletions], fmt.Sprintf("and %d more", more))
	}
	return "", warn("being deleted: %s", strings.Join(kept, ", "))
}
