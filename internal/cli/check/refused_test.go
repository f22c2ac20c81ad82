package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

// Workloads are counted whose pods a webhook of Anymesh refuses, while they lack pods.
func TestRefused(t *testing.T) {
	const denial = `Error creating: admission webhook "appmesh.pods.anymesh.dev" denied the request: `
	versions := map[string]string{"ReplicaSet": "apps/v1", "Job": "batch/v1"}
	event := func(name, kind, object, uid, message string, at int64) runtime.Object {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Reason: "FailedCreate", Message: message,
			LastTimestamp: metav1.NewTime(time.Unix(at, 0)),
			InvolvedObject: corev1.ObjectReference{
				APIVersion: versions[kind], Kind: kind, Namespace: "a", Name: object, UID: types.UID(uid),
			},
		}
	}
	otherGroup := event("x", "ReplicaSet", "front-1", "1", denial+"x", 1).(*corev1.Event)
	otherGroup.InvolvedObject.APIVersion = "example.com/v1"
	yes, three := true, int32(3)
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "front-1", UID: "1", OwnerReferences: []metav1.OwnerReference{
			{Kind: "Deployment", Name: "front", Controller: &yes},
		}},
		Spec: appsv1.ReplicaSetSpec{Replicas: &three}, Status: appsv1.ReplicaSetStatus{Replicas: 2},
	}
	complete := replicaSet.DeepCopy()
	complete.Status.Replicas = 3
	again := replicaSet.DeepCopy()
	again.UID = "2"
	for name, c := range map[string]struct {
		objects []runtime.Object
		want    string
	}{
		"nothing": {nil, "<nil>"},
		"last text": {[]runtime.Object{
			replicaSet, event("x", "ReplicaSet", "front-1", "1", denial+"new", 20), event("y", "ReplicaSet", "front-1", "1", denial+"old", 10),
		}, "the pods of 1 workload are refused: Deployment a/front: new"},
		"complete":      {[]runtime.Object{complete, event("x", "ReplicaSet", "front-1", "1", denial+"x", 1)}, "<nil>"},
		"created again": {[]runtime.Object{again, event("x", "ReplicaSet", "front-1", "1", denial+"x", 1)}, "<nil>"},
		"deleted":       {[]runtime.Object{event("x", "ReplicaSet", "front-1", "1", denial+"x", 1)}, "<nil>"},
		"other group":   {[]runtime.Object{replicaSet, otherGroup}, "<nil>"},
		"other webhook": {[]runtime.Object{replicaSet, event("x", "ReplicaSet", "front-1", "1", `admission webhook "other" denied the request: x`, 1)}, "<nil>"},
		"two kinds": {[]runtime.Object{
			replicaSet, event("x", "ReplicaSet", "front-1", "1", denial+"x", 1),
			&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "job", UID: "j"}}, event("y", "Job", "job", "j", denial+"y", 1),
		}, "2 workloads are refused: Deployment a/front: x, Job a/job: y"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := refused(t.Context(), &Cluster{Kube: fake.NewClientset(c.objects...)})
			if got := fmt.Sprint(err); !strings.HasSuffix(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
