package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	// proxying is the path of the aggregated API in the API server of the control plane.
	proxying = "/apis/search.karmada.io/v1alpha1/proxying"
	// aggregatorKinds are the kinds of which the chart installs objects for the aggregator.
	aggregatorKinds = "apiservices,deployments,services,poddisruptionbudgets,serviceaccounts,roles,rolebindings," +
		"clusterroles,clusterrolebindings,namespaces,validatingadmissionpolicies,validatingadmissionpolicybindings"
	aggregatorLabel = "app.kubernetes.io/name=anymesh-aggregator"
)

// TestAggregatorChart installs the aggregator with the chart, and uses it through the API server. The store of an
// informer is right after each of the replicas was replaced; TestAggregatorReplicas follows each event.
func TestAggregatorChart(t *testing.T) {
	ctx := t.Context()
	t.Cleanup(func() {
		_, err := kubectl(context.Background(), "delete", aggregatorKinds, "-A", "-l", aggregatorLabel, "--wait=false")
		if err != nil {
			t.Error(err)
		}
	})
	if err := installAnymesh(ctx, "--set", "aggregator.enabled=true"); err != nil {
		t.Fatal(err)
	}
	member := []string{"lab", "--kubeconfig", lab.kubeconfig, "--member-kubeconfig", lab.kubeconfig}
	address := run(t, "-n", "default", "get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}")
	if _, err := anymesh(ctx, append([]string{"cluster", "join", "--endpoint", "https://" + address}, member...)...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := anymesh(context.Background(), append([]string{"cluster", "leave"}, member...)...); err != nil {
			t.Error(err)
		}
	})
	if _, err := kubectlInput(ctx, registryManifest, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	run(t, "wait", "--for=condition=Ready", "resourceregistries.search.karmada.io", "all", "--timeout=180s")

	server := lab.config.Host + proxying
	direct := run(t, "-n", "colors", "get", "pods", "-o", "name")
	if all := run(t, "--server", server, "-n", "colors", "get", "pods", "-o", "name"); all != direct {
		t.Errorf("through the API server:\n%swant:\n%s", all, direct)
	}
	if text := run(t, "explain", "resourceregistries", "--api-version=search.karmada.io/v1alpha1"); !strings.Contains(text,
		"GROUP:      search.karmada.io") {
		t.Errorf("explain: %s", text)
	}

	compareTables(t, server)

	config := rest.CopyConfig(lab.config)
	config.Host = server
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace("colors"))
	pods := factory.Core().V1().Pods()
	synced := pods.Informer().HasSynced
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced) {
		t.Fatal("the informer does not sync")
	}
	name := strings.TrimPrefix(strings.Fields(direct)[0], "pod/")
	for i, replica := range strings.Fields(run(t, "-n", "anymesh-system", "get", "pods", "-l", aggregatorLabel, "-o", "name")) {
		run(t, "-n", "anymesh-system", "delete", replica, "--wait=false")
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/round":"%d"}}}`, i)
		// The pod that answers may be the one that is being deleted, and the API server may take the APIService for
		// unavailable until its next check.
		eventually(t, 2*time.Minute, "the patch", func() error {
			_, err := kube.CoreV1().Pods("colors").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		})
		eventually(t, time.Minute, "the event", func() error {
			pod, err := pods.Lister().Pods("colors").Get(name)
			if err != nil || pod.Annotations["example.com/round"] != fmt.Sprint(i) {
				return fmt.Errorf("the informer has %v: %w", annotationsOf(pod), err)
			}
			return nil
		})
		run(t, "-n", "anymesh-system", "rollout", "status", "deployment/anymesh-aggregator", "--timeout=180s")
	}
}

func annotationsOf(pod *corev1.Pod) map[string]string {
	if pod == nil {
		return nil
	}
	return pod.Annotations
}
