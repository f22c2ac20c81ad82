package install

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestWaitReadyReportsReason(t *testing.T) {
	rolled := func(generation, observed int64, updated, available, all int32) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Name, d.Namespace, d.Generation, d.Spec.Replicas = "d", "n", generation, new(int32(2))
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: observed, UpdatedReplicas: updated, AvailableReplicas: available, Replicas: all,
		}
		return d
	}
	webhooks := func(bundles ...string) client.Object {
		o := object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "w")
		var list []any
		for i, b := range bundles {
			list = append(list, map[string]any{"name": fmt.Sprint(i), "clientConfig": map[string]any{"caBundle": b}})
		}
		if err := unstructured.SetNestedSlice(o.Object, list, "webhooks"); err != nil {
			t.Fatal(err)
		}
		return o
	}
	for _, c := range []struct {
		name, fails string
		object      client.Object
	}{
		{"rollout complete", "", rolled(3, 3, 2, 2, 2)},
		{"generation not observed", "Deployment d is not ready within the time of --timeout: 0 of 2 replicas are ready", rolled(4, 3, 2, 2, 2)},
		{"replica not available", "Deployment d is not ready within the time of --timeout: 1 of 2 replicas are ready", rolled(3, 3, 2, 1, 2)},
		{"old replica still running", "is not ready", rolled(3, 3, 2, 2, 3)},
		{"replica not updated", "is not ready", rolled(3, 3, 1, 2, 2)},
		{"caBundle set", "", webhooks("QQ==", "QQ==")},
		{"caBundle of one webhook missing", "MutatingWebhookConfiguration w is not ready within the time of --timeout: the control plane has not set caBundle yet", webhooks("QQ==", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kind := "Deployment"
				if _, is := c.object.(*appsv1.Deployment); !is {
					kind = "MutatingWebhookConfiguration"
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				wanted := object(map[string]string{"Deployment": "apps/v1"}[kind], kind, c.object.GetName())
				if kind != "Deployment" {
					wanted.SetAPIVersion("admissionregistration.k8s.io/v1")
				}
				reported := 0
				err := WaitReady(ctx, newCluster(interceptor.Funcs{}, c.object),
					[]*unstructured.Unstructured{object("v1", "ConfigMap", "c"), wanted}, func(what string) {
						if strings.HasSuffix(what, " is ready") {
							reported++
						}
					})
				if c.fails == "" && (err != nil || reported != 1) || c.fails != "" &&
					(err == nil || !strings.Contains(err.Error(), c.fails) || reported != 0) {
					t.Errorf("%d objects reported, error %v", reported, err)
				}
			})
		})
	}
}

// The last check is often cut off by --timeout: the reason of the one before is what users need.
func TestWaitReadyKeepsReasonWhenTimeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		labels := map[string]string{"app": "d"}
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}}
		d.Name, d.Namespace = "d", "n"
		p := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
		}}}}
		p.Name, p.Namespace, p.Labels = "p", "n", labels
		lists := 0
		cluster := newCluster(interceptor.Funcs{List: func(ctx context.Context, under client.WithWatch, l client.ObjectList,
			opts ...client.ListOption) error {
			if lists++; lists > 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return under.List(ctx, l, opts...)
		}}, d, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := WaitReady(ctx, cluster, []*unstructured.Unstructured{object("apps/v1", "Deployment", "d")}, func(string) {})
		want := "0 of 1 replicas are ready; Pod p, container c: ImagePullBackOff"
		if lists < 2 || err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("after %d lists: got error %v, want one that ends with %q", lists, err, want)
		}
	})
}
