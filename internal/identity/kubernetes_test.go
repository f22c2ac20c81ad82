package identity

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

func TestReplicasShareOneCA(t *testing.T) {
	client := fake.NewClientset()
	var wg sync.WaitGroup
	bundles := make([]string, 8)
	for i := range bundles {
		wg.Go(func() {
			ca, err := OpenCAStore(context.Background(), client,
				CAStoreOptions{Namespace: "anymesh-system", TrustDomain: "cluster.local"})
			if err != nil {
				t.Error(err)
				return
			}
			bundles[i] = string(ca.Bundle().PEM())
		})
	}
	wg.Wait()
	for _, b := range bundles {
		if b != bundles[0] {
			t.Fatal("two replicas have different roots")
		}
	}
	secret, err := client.CoreV1().Secrets("anymesh-system").Get(t.Context(), CASecret, metav1.GetOptions{})
	if err != nil || secret.Type != corev1.SecretTypeTLS {
		t.Errorf("Secret type %q, %v", secret.Type, err)
	}
}

func TestInvalidSecretIsReportedAndKept(t *testing.T) {
	for name, data := range map[string]map[string][]byte{
		`"tls.crt"`:      {"ca.crt": []byte("x")},
		"CA certificate": {"tls.crt": []byte("x"), "tls.key": []byte("y")},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "anymesh-system",
				Name: CASecret}, Data: data})
			_, err := OpenCAStore(t.Context(), client,
				CAStoreOptions{Namespace: "anymesh-system", TrustDomain: "cluster.local"})
			if err == nil || !strings.Contains(err.Error(), "anymesh-system/"+CASecret) ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("error %v does not name the Secret and %s", err, name)
			}
			for _, a := range client.Actions() {
				if a.GetVerb() != "get" {
					t.Errorf("the Secret was touched: %s", a.GetVerb())
				}
			}
		})
	}
}

func bluePod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: blue.Namespace, Name: blue.Pod, UID: types.UID(blue.PodUID)},
		Spec:       corev1.PodSpec{ServiceAccountName: blue.ServiceAccount},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// Tokens of pods without a phase, of ending pods, and of older API servers without a node are valid.
func TestVerifyAcceptsPodTokens(t *testing.T) {
	for name, change := range map[string]func(*authenticationv1.TokenReviewStatus, *corev1.Pod){
		"a starting pod":     func(*authenticationv1.TokenReviewStatus, *corev1.Pod) {},
		"a running pod":      func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.Status.Phase = corev1.PodRunning },
		"a token of no node": func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) { delete(s.User.Extra, extraNode) },
		"a pod that is ending": func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) {
			now := metav1.Now()
			p.DeletionTimestamp, p.Finalizers = &now, []string{"x/y"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			review, pod := blueReview(), bluePod()
			pod.Spec.NodeName = "node-1"
			change(review, pod)
			client := fake.NewClientset(pod)
			client.PrependReactor("create", "tokenreviews", func(a ktesting.Action) (bool, runtime.Object, error) {
				asked := a.(ktesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
				if asked.Spec.Token != "the token" || len(asked.Spec.Audiences) != 1 ||
					asked.Spec.Audiences[0] != "anymesh" {
					t.Errorf("asked about %+v", asked.Spec)
				}
				return true, &authenticationv1.TokenReview{Status: *review}, nil
			})
			claims, err := NewTokenVerifier(client).Verify(t.Context(), "the token")
			if err != nil || claims != blue {
				t.Errorf("claims %+v, %v", claims, err)
			}
		})
	}
}

func TestInvalidTokenSkipsReview(t *testing.T) {
	client := fake.NewClientset()
	for _, token := range []string{"", strings.Repeat("a", MaxTokenSize+1)} {
		if _, err := NewTokenVerifier(client).Verify(t.Context(), token); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%v", err)
		}
	}
	if n := len(client.Actions()); n != 0 {
		t.Errorf("the API server was asked %d times", n)
	}
}

func TestAPIServerErrorIsNotUnauthenticated(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("etcd unavailable")
	})
	_, err := NewTokenVerifier(client).Verify(t.Context(), "x")
	if err == nil || errors.Is(err, ErrUnauthenticated) || errors.Is(err, ErrDenied) {
		t.Errorf("got %v", err)
	}
}
