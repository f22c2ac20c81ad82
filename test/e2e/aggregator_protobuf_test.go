package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// TestAggregatorProtobuf reads and writes with a client that neither sends nor accepts JSON, except in patches.
func TestAggregatorProtobuf(t *testing.T) {
	a := startAggregated(t)
	a.create("c3", linesPod("encoded"))
	_, config := a.client()
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default")
	eventually(t, 20*time.Second, "list", func() error {
		list, err := pods.List(t.Context(), metav1.ListOptions{Limit: 1, LabelSelector: "app=lines"})
		if err == nil && (len(list.Items) != 1 || list.ResourceVersion == "") {
			err = fmt.Errorf("%v", list)
		}
		return err
	})
	patched, err := pods.Patch(t.Context(), "encoded", types.StrategicMergePatchType,
		[]byte(`{"metadata":{"annotations":{"step":"patched"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var updated *corev1.Pod
	eventually(t, 20*time.Second, "update", func() error { // the kubelet writes the status meanwhile: 409
		got, err := pods.Get(t.Context(), "encoded", metav1.GetOptions{})
		if err == nil {
			got.Annotations["step"] = "updated"
			updated, err = pods.Update(t.Context(), got, metav1.UpdateOptions{})
		}
		return err
	})
	if _, err := pods.Update(t.Context(), patched, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update of an old version: %v", err)
	}
	got, err := pods.Get(t.Context(), "encoded", metav1.GetOptions{ResourceVersion: updated.ResourceVersion})
	if err != nil || got.Annotations["step"] != "updated" || got.Spec.Containers[0].Name == "" {
		t.Errorf("%v, %v", got, err)
	}
	if out, err := a.in("c3", "", "get", "pod", "encoded", "-o", "jsonpath={.metadata.annotations.step}"); out != "updated" {
		t.Errorf("the cluster has %q, %v", out, err)
	}
}
