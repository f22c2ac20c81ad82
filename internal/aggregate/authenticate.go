package aggregate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// The ConfigMap in which an API server publishes how it authenticates.
const (
	authenticationNamespace = "kube-system"
	authenticationConfig    = "extension-apiserver-authentication"
)

// ReviewTimeout limits a TokenReview. Then the request gets status 401. reviewTTL is how long answers of the control
// plane are cached.
const (
	ReviewTimeout = 10 * time.Second
	reviewTTL     = 10 * time.Second
)

func reviewBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 250 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 4}
}

// newAuthenticator accepts client certificates and front proxies of the control plane's CAs, and bearer tokens that
// the control plane accepts. Anonymous requests are refused. A file with client CAs replaces those of the control
// plane.
func newAuthenticator(
	ctx context.Context, kube kubernetes.Interface, clientCAFile string,
) (authenticator.Request, error) {
	published, err := kube.CoreV1().ConfigMaps(authenticationNamespace).Get(ctx, authenticationConfig, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading ConfigMap %s/%s of the control plane: %w", authenticationNamespace,
			authenticationConfig, err)
	}
	config := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: kube.AuthenticationV1(), TokenAccessReviewTimeout: ReviewTimeout,
		CacheTTL: reviewTTL, WebhookRetryBackoff: reviewBackoff(),
	}
	watched := func(key string) (*dynamiccertificates.ConfigMapCAController, error) {
		c, err := dynamiccertificates.NewDynamicCAFromConfigMapController(key, authenticationNamespace,
			authenticationConfig, key, kube)
		if err != nil {
			return nil, err
		}
		go c.Run(ctx, 1)
		// Without the CAs valid certificates would be refused.
		loaded := func(context.Context) (bool, error) { return len(c.CurrentCABundleContent()) > 0, nil }
		if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, ReviewTimeout, true, loaded); err != nil {
			return nil, fmt.Errorf("reading %s of ConfigMap %s/%s of the control plane: %w", key, authenticationNamespace,
				authenticationConfig, err)
		}
		return c, nil
	}
	if clientCAFile != "" {
		ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", clientCAFile)
		if err != nil {
			return nil, fmt.Errorf("--client-ca-file: %w", err)
		}
		go ca.Run(ctx, 1)
		config.ClientCertificateCAContentProvider = ca
	} else if published.Data["client-ca-file"] != "" {
		if config.ClientCertificateCAContentProvider, err = watched("client-ca-file"); err != nil {
			return nil, err
		}
	}
	if published.Data["requestheader-client-ca-file"] != "" {
		ca, err := watched("requestheader-client-ca-file")
		if err != nil {
			return nil, err
		}
		headers := headerrequest.NewRequestHeaderAuthRequestController(authenticationConfig, authenticationNamespace, kube,
			"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
			"requestheader-extra-headers-prefix", "requestheader-allowed-names")
		if err := headers.RunOnce(ctx); err != nil {
			return nil, err
		}
		go headers.Run(ctx, 1)
		config.RequestHeaderConfig = &authenticatorfactory.RequestHeaderConfig{
			UsernameHeaders:     headerrequest.StringSliceProviderFunc(headers.UsernameHeaders),
			UIDHeaders:          headerrequest.StringSliceProviderFunc(headers.UIDHeaders),
			GroupHeaders:        headerrequest.StringSliceProviderFunc(headers.GroupHeaders),
			ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes),
			AllowedClientNames:  headerrequest.StringSliceProviderFunc(headers.AllowedClientNames),
			CAContentProvider:   ca,
		}
	}
	request, _, err := config.New()
	return request, err
}

// authenticate returns the user of a request. The error is the answer.
func (s *Server) authenticate(r *http.Request) (user.Info, error) {
	if mayHaveToken(r) {
		from, _ := netip.ParseAddrPort(r.RemoteAddr) // addresses that are none have a share together
		release, ok := s.authentications.Acquire(net.TCPAddrFromAddrPort(from))
		if !ok {
			return nil, errTooMany("requests whose tokens are verified")
		}
		defer release()
	}
	response, ok, err := s.authenticator.AuthenticateRequest(r)
	if errors.Is(err, context.DeadlineExceeded) {
		s.metrics.refuse(reasonReviewTimeout)
	}
	if err != nil || !ok {
		return nil, apierrors.NewUnauthorized("the request has no valid client certificate or bearer token")
	}
	return response.User, nil
}

// mayHaveToken reports whether the control plane may have to review a token: browsers send it as a protocol.
func mayHaveToken(r *http.Request) bool {
	return len(r.Header.Values("Authorization")) > 0 || len(r.Header.Values("Sec-Websocket-Protocol")) > 0
}

// forgetfulAuthorizer asks the control plane with SubjectAccessReviews. It keeps answers for reviewTTL.
type forgetfulAuthorizer struct {
	config  authorizerfactory.DelegatingAuthorizerConfig
	current atomic.Pointer[authorizer.Authorizer]
}

func newAuthorizer(kube kubernetes.Interface) (*forgetfulAuthorizer, error) {
	a := &forgetfulAuthorizer{config: authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: kube.AuthorizationV1(),
		AllowCacheTTL:             reviewTTL, DenyCacheTTL: reviewTTL,
		WebhookRetryBackoff: reviewBackoff(),
	}}
	next, err := a.config.New()
	a.current.Store(&next)
	return a, err
}

// Authorize implements authorizer.Authorizer.
func (a *forgetfulAuthorizer) Authorize(
	ctx context.Context, attributes authorizer.Attributes,
) (authorizer.Decision, string, error) {
	return (*a.current.Load()).Authorize(ctx, attributes)
}

// forget drops the answers so far.
func (a *forgetfulAuthorizer) forget() {
	if next, err := a.config.New(); err == nil { // as it was for the first one
		a.current.Store(&next)
	}
}
