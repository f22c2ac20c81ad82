package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/rollout"
)

// progressAfter is the time after which WaitReady reports what it waits for.
const progressAfter = 2 * time.Second

// WaitReady waits until every Deployment is rolled out, every webhook configuration has a caBundle, and every
// APIService is available.
func WaitReady(ctx context.Context, c client.Client, objects []*unstructured.Unstructured, report func(string)) error {
	for _, o := range objects {
		check := map[string]func(context.Context, client.Client, *unstructured.Unstructured) (bool, string){
			"Deployment":                     rolledOut,
			"MutatingWebhookConfiguration":   trusted,
			"ValidatingWebhookConfiguration": trusted,
			"APIService":                     available,
		}[o.GetKind()]
		if check == nil {
			continue
		}
		var why, said string
		begin := time.Now()
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (ok bool, _ error) {
			ok, now := check(ctx, c, o)
			if !ok && ctx.Err() != nil && why != "" {
				return false, nil // the check was interrupted: the reason of the one before is still the best
			}
			if why = now; !ok && why != said && time.Since(begin) > progressAfter {
				said = why
				report(fmt.Sprintf("waiting for %s %s: %s", o.GetKind(), o.GetName(), why))
			}
			return ok, nil
		})
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%s %s is not ready within the time of --timeout: %s", o.GetKind(), o.GetName(), why)
		}
		if err != nil {
			return fmt.Errorf("%s %s is not ready: %s: %w", o.GetKind(), o.GetName(), why, err)
		}
		report(o.GetKind() + " " + o.GetName() + " is ready")
	}
	return nil
}

// rolledOut reports whether a Deployment is rolled out, or what keeps its pods from it.
func rolledOut(ctx context.Context, c client.Client, o *unstructured.Unstructured) (bool, string) {
	var d appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), &d); err != nil {
		return false, err.Error()
	}
	if rollout.Complete(&d) {
		return true, ""
	}
	why := []string{fmt.Sprintf("%d of %d replicas are ready", rollout.Ready(&d), rollout.Replicas(&d))}
	faults, err := rollout.Faults(ctx, c, &d)
	if err != nil {
		faults = []string{"its pods cannot be listed: " + err.Error()}
	}
	return false, strings.Join(append(why, faults...), "; ")
}

// trusted reports whether the control plane has set caBundle.
func trusted(ctx context.Context, c client.Client, o *unstructured.Unstructured) (bool, string) {
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(o.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
		return false, err.Error()
	}
	webhooks, _, err := unstructured.NestedSlice(now.Object, "webhooks")
	if err != nil {
		return false, err.Error()
	}
	for _, w := range webhooks {
		bundle, _, _ := unstructured.NestedString(w.(map[string]any), "clientConfig", "caBundle")
		if bundle == "" {
			return false, "the control plane has not set caBundle yet"
		}
	}
	return true, ""
}

// available reports whether the API server reaches the server of an APIService.
func available(ctx context.Context, c client.Client, o *unstructured.Unstructured) (bool, string) {
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(o.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
		return false, err.Error()
	}
	conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		if condition["type"] == "Available" {
			return condition["status"] == "True", fmt.Sprint(condition["message"])
		}
	}
	return false, "the API server has not called it yet"
}
