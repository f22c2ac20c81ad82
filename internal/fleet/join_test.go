package fleet

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

// newMember returns a member cluster whose controllers fill the Secrets of service accounts.
func newMember() client.Client {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "uid-1"}}
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(system).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if s, ok := o.(*corev1.Secret); ok && s.Type == corev1.SecretTypeServiceAccountToken {
				s = s.DeepCopy()
				s.Data = map[string][]byte{
					corev1.ServiceAccountTokenKey:  []byte("token of " + s.Annotations[corev1.ServiceAccountNameKey]),
					corev1.ServiceAccountRootCAKey: []byte("ca"),
				}
				return c.Create(ctx, s, options...)
			}
			return c.Create(ctx, o, options...)
		},
	}).Build()
}

// TestJoinAndLeave can be repeated, and leaves nothing.
func TestJoinAndLeave(t *testing.T) {
	control, member := newControlPlane(t), newMember()
	ctx := t.Context()
	for _, label := range []string{"a", "b"} {
		config := &rest.Config{Host: "https://c1"}
		if err := Join(ctx, control.Kube, member, config, "c1", map[string]string{"team": label}); err != nil {
			t.Fatal(err)
		}
		cluster := &clusterv1.Cluster{}
		if err := control.Kube.Get(ctx, client.ObjectKey{Name: "c1"}, cluster); err != nil {
			t.Fatal(err)
		}
		if cluster.Spec.ID != "uid-1" || cluster.Labels["team"] != label || cluster.Spec.APIEndpoint != "https://c1" {
			t.Errorf("%+v", cluster)
		}
	}
	for name, want := range map[string]string{"c1": "token of " + readerName, "c1-impersonator": "token of " + impersonator} {
		secret := &corev1.Secret{}
		err := control.Kube.Get(ctx, client.ObjectKey{Namespace: SecretNamespace, Name: name}, secret)
		if err != nil || string(secret.Data[clusterv1.SecretTokenKey]) != want ||
			string(secret.Data[clusterv1.SecretCADataKey]) != "ca" {
			t.Errorf("secret %s: %s, %v", name, secret.Data, err)
		}
	}
	role := &rbacv1.ClusterRole{}
	if err := member.Get(ctx, client.ObjectKey{Name: readerName}, role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		reading := []string{"get", "list", "watch"}
		if slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains(reading, v) }) {
			t.Errorf("the reader may %v", rule.Verbs)
		}
	}
	for _, want := range []bool{true, false} {
		if was, err := Leave(ctx, control.Kube, member, "c1"); err != nil || was != want {
			t.Fatalf("was a member: %v, want %v; %v", was, want, err)
		}
	}
	for _, o := range []client.Object{&clusterv1.Cluster{}, &corev1.Secret{}} {
		key := client.ObjectKey{Name: "c1"}
		if _, ok := o.(*corev1.Secret); ok {
			key.Namespace = SecretNamespace
		}
		if err := control.Kube.Get(ctx, key, o); !apierrors.IsNotFound(err) {
			t.Errorf("%T exists: %v", o, err)
		}
	}
	if err := member.Get(ctx, client.ObjectKey{Name: readerName}, role); !apierrors.IsNotFound(err) {
		t.Errorf("the ClusterRole in the member exists: %v", err)
	}
}

// TestJoinWaitsForTheEndOfANamespace joins a member whose namespace is still being deleted, as after Leave.
func TestJoinWaitsForTheEndOfANamespace(t *testing.T) {
	control, ctx := newControlPlane(t), t.Context()
	asked := 0
	member := interceptor.NewClient(newMember().(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			err := c.Get(ctx, key, o, options...)
			if ns, is := o.(*corev1.Namespace); is && err == nil && ns.DeletionTimestamp != nil {
				if asked++; asked == 3 { // its controller has deleted the content
					ended := ns.DeepCopy()
					ended.Finalizers = nil
					return c.Update(ctx, ended)
				}
			}
			return err
		},
	})
	ending := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: memberNamespace, Finalizers: []string{"kubernetes"}}}
	if err := member.Create(ctx, ending); err != nil {
		t.Fatal(err)
	}
	if err := member.Delete(ctx, ending); err != nil {
		t.Fatal(err)
	}
	if err := Join(ctx, control.Kube, member, &rest.Config{Host: "https://c1"}, "c1", nil); err != nil {
		t.Fatal(err)
	}
	var ns corev1.Namespace
	if err := member.Get(ctx, client.ObjectKey{Name: memberNamespace}, &ns); err != nil || ns.DeletionTimestamp != nil {
		t.Errorf("the namespace is %v, asked %d times: %v", ns.ObjectMeta, asked, err)
	}
}

func TestJoinNamesTheClusterThatDoesNotAnswer(t *testing.T) {
	control := newControlPlane(t)
	empty := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	err := Join(t.Context(), control.Kube, empty, &rest.Config{}, "c1", nil)
	if err == nil || !strings.Contains(err.Error(), "identity of cluster c1") {
		t.Error(err)
	}
}
