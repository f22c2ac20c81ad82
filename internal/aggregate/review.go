package aggregate

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	clientcache "k8s.io/client-go/tools/cache"

	"anymesh.dev/anymesh/internal/aggregate/cache"
)

// Open watches are authenticated again at the first interval, and authorized again at the second one: the control
// plane may decide by other things than roles. roleDelay is the time from a change of a role to the review: roles
// often change together.
const (
	authenticateInterval = 10 * time.Second
	authorizeInterval    = time.Minute
	roleDelay            = 500 * time.Millisecond
)

// Reviews of open watches at once, and the time of each.
const (
	maxReviews       = 16
	maxReviewOfWatch = 10 * time.Second
)

// followRights ends watches whose users lost their rights, until the context ends.
func (s *Server) followRights(ctx context.Context) {
	changed := make(chan struct{}, 1)
	s.followRoles(ctx, changed)
	authenticate, authorize := time.NewTicker(authenticateInterval), time.NewTicker(authorizeInterval)
	defer authenticate.Stop()
	defer authorize.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-authenticate.C:
			s.reviewWatches(ctx, false)
		case <-authorize.C:
			s.reviewWatches(ctx, true)
		case <-changed:
			select {
			case <-ctx.Done():
				return
			case <-time.After(roleDelay):
			}
			if s.forget != nil {
				s.forget()
			}
			s.reviewWatches(ctx, true)
		}
	}
}

// followRoles adds an element to a channel when a role or a binding of the control plane changes. Without the
// permission to watch them, only the interval counts.
func (s *Server) followRoles(ctx context.Context, changed chan<- struct{}) {
	client, err := metadata.NewForConfig(s.config.ControlPlane)
	if err != nil {
		s.config.Log.Warn("roles of the control plane are not watched", "error", err)
		return
	}
	signal := func() {
		select {
		case changed <- struct{}{}:
		default: // signaled already
		}
	}
	factory := metadatainformer.NewSharedInformerFactory(client, 0)
	for _, resource := range []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"} {
		informer := factory.ForResource(rbacv1.SchemeGroupVersion.WithResource(resource)).Informer()
		_ = informer.SetTransform(func(o any) (any, error) { // it has not started
			if m, is := o.(*metav1.PartialObjectMetadata); is {
				m.Labels, m.Annotations, m.ManagedFields = nil, nil, nil
			}
			return o, nil
		})
		_, _ = informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{ // nor has it stopped
			AddFunc:    func(any) { signal() },
			DeleteFunc: func(any) { signal() },
			UpdateFunc: func(before, after any) {
				if before.(metav1.Object).GetResourceVersion() != after.(metav1.Object).GetResourceVersion() {
					signal()
				}
			},
		})
	}
	factory.Start(ctx.Done())
}

// reviewWatches authenticates the users of open watches again, and with authorize asks for their rights, and ends the
// watches of those who lack them.
func (s *Server) reviewWatches(ctx context.Context, authorize bool) {
	var group sync.WaitGroup
	limit := make(chan struct{}, maxReviews)
	for _, w := range s.watches.all() {
		limit <- struct{}{}
		group.Go(func() {
			defer func() { <-limit }()
			bounded, cancel := context.WithTimeout(ctx, maxReviewOfWatch)
			defer cancel()
			if err := w.review(bounded, authorize); err != nil {
				w.end(err)
			}
		})
	}
	group.Wait()
}

// reviewOf returns the review of a watch of objects of clusters. Its error is the last event of the watch. It returns
// none if the control plane cannot tell.
func (s *Server) reviewOf(c call, clusters []string) func(ctx context.Context, authorize bool) error {
	return func(ctx context.Context, authorize bool) error {
		if err := s.authenticateAgain(ctx, c); err != nil || !authorize {
			return err
		}
		if err := s.authorize(ctx, c, ""); apierrors.IsForbidden(err) {
			return err
		}
		if !s.config.AuthorizeClusters {
			return nil
		}
		for _, cluster := range clusters {
			switch err := s.authorize(ctx, c, cluster); {
			case !apierrors.IsForbidden(err):
			case pinned(c) != "":
				return err
			default:
				// The client lists again, without the cluster.
				return apierrors.NewResourceExpired("access to cluster " + cluster + " was removed; list again")
			}
		}
		return nil
	}
}

// identityKey is the key of a request's context that has the request before it was authenticated, which removes the
// credentials.
type identityKey struct{}

// withIdentity keeps the credentials of a watch, which is authenticated again.
func withIdentity(r *http.Request) *http.Request {
	if watch := r.URL.Query().Get("watch"); watch == "" || watch == "false" || watch == "0" {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), identityKey{}, r.Clone(context.WithoutCancel(r.Context()))))
}

// authenticateAgain returns 401 if the credentials of a request are not valid any longer, unless the control plane,
// which verifies tokens, does not answer.
func (s *Server) authenticateAgain(ctx context.Context, c call) error {
	identity, is := c.Context().Value(identityKey{}).(*http.Request)
	if !is {
		return nil
	}
	_, ok, err := s.authenticator.AuthenticateRequest(identity.Clone(ctx))
	if ok && err == nil || !s.answers(ctx) {
		return nil
	}
	return apierrors.NewUnauthorized("the client certificate or bearer token is no longer valid")
}

// answers reports whether the control plane answers.
func (s *Server) answers(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.controlPlane.URL.JoinPath("/version").String(), nil)
	if err != nil {
		return false
	}
	response, err := s.controlPlane.Do(r)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode < http.StatusInternalServerError
}

// lastEvent returns the last event of a watch whose context ended.
func lastEvent(ctx context.Context, events *cache.Watch) (cache.Event, bool) {
	var status apierrors.APIStatus
	if errors.As(context.Cause(ctx), &status) {
		return events.Fail(status.Status()), true
	}
	return events.LastBookmark()
}
