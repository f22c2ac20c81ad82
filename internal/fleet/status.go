package fleet

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	"anymesh.dev/anymesh/internal/truncate"
)

// maxMessage limits the message of a condition, in bytes.
const maxMessage = 1024

func (f *Fleet) writeStatus(ctx context.Context, c *connection, cluster *clusterv1.Cluster) {
	before := cluster.DeepCopy()
	ready := metav1.Condition{
		Type: clusterv1.ConditionReady, Status: metav1.ConditionTrue, Reason: "ClusterReady",
		Message: "the API server answers", ObservedGeneration: cluster.Generation,
	}
	if c.err != nil {
		ready.Status, ready.Reason = metav1.ConditionFalse, "ClusterNotReachable"
		ready.Message = truncate.WithEllipsis(c.err.Error(), maxMessage)
	}
	meta.SetStatusCondition(&cluster.Status.Conditions, ready)
	if c.version != "" {
		cluster.Status.KubernetesVersion = c.version
	}
	if equality.Semantic.DeepEqual(before.Status, cluster.Status) {
		return
	}
	if err := f.Kube.Status().Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
		f.Log.Warn("the status of a Cluster was not written", "cluster", cluster.Name, "error", err)
	}
}
