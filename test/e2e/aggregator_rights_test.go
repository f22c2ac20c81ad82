package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// viewers may list pods of the clusters c2 and c3.
const viewers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewers}
rules:
- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
- {apiGroups: [cluster.karmada.io], resources: [clusters], resourceNames: [c2, c3], verbs: [access]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewers}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: viewers}
`

// TestAggregatorRights removes the rights of a user who watches.
func TestAggregatorRights(t *testing.T) {
	a := startAggregated(t, "--authorize-clusters")
	a.create("c1", viewers)
	a.create("c2", linesPod("seen-c2"))
	a.create("c3", linesPod("seen-c3"))
	_, config := a.client()
	config.Impersonate = rest.ImpersonationConfig{UserName: "ann", Groups: []string{"viewers"}}
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default")
	names := func() (string, *metav1.ListMeta, error) {
		list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=lines"})
		if err != nil {
			return "", nil, err
		}
		var out []string
		for _, p := range list.Items {
			out = append(out, p.Name)
		}
		return strings.Join(out, " "), &list.ListMeta, nil
	}
	// watched waits until the user sees pods, and watches from there.
	watched := func(want string) watch.Interface {
		t.Helper()
		var w watch.Interface
		eventually(t, 20*time.Second, "the pods of the user", func() error {
			got, meta, err := names()
			if err == nil && got != want {
				err = fmt.Errorf("got %s, want %s", got, want)
			}
			if err != nil {
				return err
			}
			w, err = pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: meta.ResourceVersion})
			return err
		})
		return w
	}
	// ends waits for the end of a watch with a status.
	ends := func(w watch.Interface, code int32) {
		t.Helper()
		defer w.Stop()
		end := time.After(hang)
		for {
			select {
			case <-end:
				t.Fatalf("the watch does not end with status %d", code)
			case e, open := <-w.ResultChan():
				switch {
				case !open:
					t.Fatalf("the watch ends without status %d", code)
				case e.Type == watch.Error:
					if status, is := e.Object.(*metav1.Status); !is || status.Code != code {
						t.Errorf("the watch ends with %v; want %d", e.Object, code)
					}
					return
				}
			}
		}
	}
	w := watched("seen-c2 seen-c3")
	if _, err := a.in("c1", strings.Replace(viewers, "[c2, c3]", "[c3]", 1), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	ends(w, http.StatusGone)
	if got, _, err := names(); err != nil || got != "seen-c3" {
		t.Errorf("after the right was removed: %s, %v", got, err)
	}
	w = watched("seen-c3")
	if _, err := a.in("c1", "", "delete", "clusterrolebinding", "viewers"); err != nil {
		t.Fatal(err)
	}
	ends(w, http.StatusForbidden)
	if _, _, err := names(); !apierrors.IsForbidden(err) {
		t.Errorf("after all rights were removed: %v", err)
	}
}
