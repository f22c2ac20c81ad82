package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Audience is the required audience of projected tokens. Tokens for the API server or another service are rejected.
const Audience = "anymesh"

// Keys that the API server adds to the TokenReview of a pod-bound token.
const (
	extraPodName = "authentication.kubernetes.io/pod-name"
	extraPodUID  = "authentication.kubernetes.io/pod-uid"
	// node of the kubelet that requested the token (Kubernetes 1.29 and newer)
	extraNode = "authentication.kubernetes.io/node-name"
)

// MaxTokenSize is the maximum length of a bearer token, in bytes; projected tokens have about 1 KiB.
const MaxTokenSize = 16 << 10

// TokenVerifier verifies bearer tokens with the TokenReview API.
type TokenVerifier struct {
	client kubernetes.Interface
}

// NewTokenVerifier creates a TokenVerifier. The client needs create on tokenreviews and get on pods.
func NewTokenVerifier(client kubernetes.Interface) *TokenVerifier {
	return &TokenVerifier{client: client}
}

// Verify returns the pod that the token is bound to. It reads the pod from the API server, not from a cache. The pod
// must exist with the UID, service account and node of the token, and must not have finished.
func (v *TokenVerifier) Verify(ctx context.Context, token string) (Claims, error) {
	claims, node, err := v.review(ctx, token)
	if err != nil {
		return Claims{}, err
	}
	pod, err := v.client.CoreV1().Pods(claims.Namespace).Get(ctx, claims.Pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Claims{}, newVerifyError(ErrDenied, PodNotFound, "pod %s/%s does not exist", claims.Namespace,
			claims.Pod)
	}
	if err != nil {
		return Claims{}, fmt.Errorf("read pod %s/%s: %w", claims.Namespace, claims.Pod, err)
	}
	switch {
	case string(pod.UID) != claims.PodUID:
		err = newVerifyError(ErrDenied, PodReplaced, "pod %s/%s was replaced by another one of the same name",
			claims.Namespace, claims.Pod)
	case pod.Spec.ServiceAccountName != claims.ServiceAccount:
		err = newVerifyError(ErrDenied, AccountMismatch, "pod %s/%s does not run as service account %q",
			claims.Namespace, claims.Pod, claims.ServiceAccount)
	case node != "" && pod.Spec.NodeName != node:
		err = newVerifyError(ErrDenied, NodeMismatch,
			"pod %s/%s does not run on node %q, for which the token was made", claims.Namespace, claims.Pod, node)
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		err = newVerifyError(ErrDenied, PodFinished, "pod %s/%s has finished", claims.Namespace, claims.Pod)
	}
	if err != nil {
		return Claims{}, err
	}
	return claims, nil
}

// review returns the claims of the token, and the node that it was issued for, if any.
func (v *TokenVerifier) review(ctx context.Context, token string) (claims Claims, node string, err error) {
	if token == "" || len(token) > MaxTokenSize {
		return Claims{}, "", newVerifyError(ErrUnauthenticated, TokenMissing,
			"the bearer token is missing or over %d bytes", MaxTokenSize)
	}
	review, err := v.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{Audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return Claims{}, "", fmt.Errorf("review the token: %w", err)
	}
	st := review.Status
	if !st.Authenticated {
		// status.error may quote the claims of the token, and is not repeated to the client.
		return Claims{}, "", newVerifyError(ErrUnauthenticated, TokenNotAccepted,
			"the cluster does not accept the token")
	}
	// An authenticator that does not support audiences returns none: the audience is not verified then.
	if !slices.Contains(st.Audiences, Audience) {
		return Claims{}, "", newVerifyError(ErrUnauthenticated, ForeignAudience, "the token is not for audience %q",
			Audience)
	}
	return claimsOf(st.User)
}

func claimsOf(user authenticationv1.UserInfo) (claims Claims, node string, err error) {
	name, ok := strings.CutPrefix(user.Username, "system:serviceaccount:")
	namespace, account, found := strings.Cut(name, ":")
	if !ok || !found {
		return Claims{}, "", newVerifyError(ErrDenied, NotServiceAccount, "user %q is not a service account",
			user.Username)
	}
	pod, uid := user.Extra[extraPodName], user.Extra[extraPodUID]
	if len(pod) != 1 || len(uid) != 1 {
		return Claims{}, "", newVerifyError(ErrDenied, NotBoundToPod,
			"the token of %q is not bound to a pod, mount a projected token", user.Username)
	}
	c := Claims{Namespace: namespace, ServiceAccount: account, Pod: pod[0], PodUID: uid[0]}
	if err := c.check(); err != nil {
		return Claims{}, "", newVerifyError(ErrDenied, InvalidNames, "%v", err)
	}
	if names := user.Extra[extraNode]; len(names) == 1 {
		node = names[0]
	}
	return c, node, nil
}
