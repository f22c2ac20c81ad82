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

func TestReplicasAgreeOnOneAuthority(t *testing.T) {
	client := fake.NewClientset()
	var wg sync.WaitGroup
	bundles := make([]string, 8)
	for i := range bundles {
		wg.Go(func() {
			ca, err := OpenKeeper(context.Background(), client, KeeperOptions{Namespace: "anymesh-system", TrustDomain: "cluster.local"})
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

func TestAnUnusableSecretIsNamedAndKept(t *testing.T) {
	for name, data := range map[string]map[string][]byte{
		`"tls.crt"`:               {},
		"authority's certificate": {"tls.crt": []byte("x"), "tls.key": []byte("y")},
	} {
		client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "anymesh-system", Name: CASecret}, Data: data})
		_, err := OpenKeeper(t.Context(), client, KeeperOptions{Namespace: "anymesh-system", TrustDomain: "cluster.local"})
		if err == nil || !strings.Contains(err.Error(), "anymesh-system/"+CASecret) || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v does not name the Secret and %s", err, name)
		}
		for _, a := range client.Actions() {
			if a.GetVerb() != "get" {
				t.Errorf("the Secret was touched: %s", a.GetVerb())
			}
		}
	}
}

func bluePod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: blue.Namespace, Name: blue.Pod, UID: types.UID(blue.PodUID)},
		Spec:       corev1.PodSpec{ServiceAccountName: blue.ServiceAccount},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func TestVerifyToken(t *testing.T) {
	good := authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{Audience},
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:shop:colors",
			Extra: map[string]authenticationv1.ExtraValue{extraPodName: {blue.Pod}, extraPodUID: {blue.PodUID}}},
	}
	type change func(*authenticationv1.TokenReviewStatus, *corev1.Pod)
	for name, c := range map[string]struct {
		change change
		want   error
	}{
		"a running pod":  {func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, nil},
		"a starting pod": {func(*authenticationv1.TokenReviewStatus, *corev1.Pod) {}, nil},
		"not a token":    {func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) { s.Authenticated = false }, ErrUnauthenticated},
		"other audience": {func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) { s.Audiences = []string{"api"} }, ErrUnauthenticated},
		"no audience":    {func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) { s.Audiences = nil }, ErrUnauthenticated},
		"a user":         {func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) { s.User.Username = "jane" }, ErrDenied},
		"not bound":      {func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) { s.User.Extra = nil }, ErrDenied},
		"two pods": {func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) {
			s.User.Extra = map[string]authenticationv1.ExtraValue{extraPodName: {"a", "b"}, extraPodUID: {"u"}}
		}, ErrDenied},
		"replaced pod":  {func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.UID = "other" }, ErrDenied},
		"gone pod":      {func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.Name = "other" }, ErrDenied},
		"finished pod":  {func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, ErrDenied},
		"other account": {func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.Spec.ServiceAccountName = "x" }, ErrDenied},
		"odd namespace": {func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) {
			s.User.Username = "system:serviceaccount:a/b:c"
		}, ErrDenied},
		"account missing": {func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) {
			s.User.Username = "system:serviceaccount:shop"
		}, ErrDenied},
	} {
		status, pod := good.DeepCopy(), bluePod()
		c.change(status, pod)
		client := fake.NewClientset(pod)
		client.PrependReactor("create", "tokenreviews", func(a ktesting.Action) (bool, runtime.Object, error) {
			review := a.(ktesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
			if review.Spec.Token != "the token" || len(review.Spec.Audiences) != 1 || review.Spec.Audiences[0] != "anymesh" {
				t.Errorf("asked about %+v", review.Spec)
			}
			return true, &authenticationv1.TokenReview{Status: *status}, nil
		})
		claims, err := NewTokenVerifier(client).Verify(t.Context(), "the token")
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if c.want == nil && claims != blue {
			t.Errorf("%s: claims %+v", name, claims)
		}
		if err != nil && strings.Contains(err.Error(), "the token\"") {
			t.Errorf("%s: the error shows the token", name)
		}
	}
}

func TestNoReviewForNoToken(t *testing.T) {
	client := fake.NewClientset()
	for _, token := range []string{"", strings.Repeat("a", maxToken+1)} {
		if _, err := NewTokenVerifier(client).Verify(t.Context(), token); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%v", err)
		}
	}
	if n := len(client.Actions()); n != 0 {
		t.Errorf("the API server was asked %d times", n)
	}
}

func TestClusterTroubleIsNotTheClientsFault(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("etcd is away")
	})
	_, err := NewTokenVerifier(client).Verify(t.Context(), "x")
	if err == nil || errors.Is(err, ErrUnauthenticated) || errors.Is(err, ErrDenied) {
		t.Errorf("got %v", err)
	}
}
