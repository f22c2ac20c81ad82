package aggregate

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticator"

	"anymesh.dev/anymesh/test/poll"
)

// rights are what users may do, and may change.
type rights struct {
	mutex  sync.Mutex
	denied map[string]bool
}

func (r *rights) allow(what string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return !r.denied[what]
}

func (r *rights) deny(what string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.denied[what] = true
}

// TestRemovedRightsEndOpenWatches guards objects against users whose rights were removed while they watch.
func TestRemovedRightsEndOpenWatches(t *testing.T) {
	for name, c := range map[string]struct {
		deny, query string
		code        int
	}{
		"cluster":        {"jane access clusters c2", "", http.StatusGone},
		"only cluster":   {"jane access clusters c2", "&cluster=c2", http.StatusForbidden},
		"verb":           {"jane watch pods ", "", http.StatusForbidden},
		"unauthorized":   {"user jane", "", http.StatusUnauthorized},
		"other user":     {"joe watch pods ", "", 0},
		"other clusters": {"jane access clusters c2", "&cluster=c1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 2)
			l.put(0, "p")
			l.put(1, "q")
			r := &rights{denied: map[string]bool{}}
			l.allow = r.allow
			l.config.AuthorizeClusters = true
			accept := l.authenticator
			l.authenticator = authenticator.RequestFunc(func(request *http.Request) (*authenticator.Response, bool, error) {
				response, ok, err := accept.AuthenticateRequest(request)
				request.Header.Del("Authorization") // as that of bearer tokens does
				return response, ok && r.allow("user "+response.User.GetName()), err
			})
			next := l.watch("timeoutSeconds=600&resourceVersion=" + decoded(t, l.wants(http.StatusOK, "", http.MethodGet,
				"/api/v1/pods?"+strings.TrimPrefix(c.query, "&"), "", "")).ResourceVersion + c.query)
			l.reviewWatches(t.Context(), true)
			r.deny(c.deny)
			if c.code == 0 {
				l.reviewWatches(t.Context(), true)
				l.put(0, "r")
				if kind, metadata, _ := next(); kind != "ADDED" || metadata.Name != "r" {
					t.Errorf("the watch gets %s %s", kind, metadata.Name)
				}
				return
			}
			poll.Until(t, "the end of the watch", func() bool { // a control plane that does not answer in time ends none
				l.reviewWatches(t.Context(), true)
				return len(l.watches.all()) == 0
			})
			l.put(1, "r")
			if kind, _, code := next(); kind != "ERROR" || code != c.code {
				t.Errorf("got %s %d, want ERROR %d", kind, code, c.code)
			}
			if kind, metadata, _ := next(); kind != "END" {
				t.Errorf("after the end: %s %s", kind, metadata.Name)
			}
		})
	}
}

// TestWatchesStayWhileTheControlPlaneIsAway guards clients against the loss of watches that they could not open again.
func TestWatchesStayWhileTheControlPlaneIsAway(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	var mutex sync.Mutex
	away := false
	accept := l.authenticator
	l.authenticator = authenticator.RequestFunc(func(request *http.Request) (*authenticator.Response, bool, error) {
		mutex.Lock()
		defer mutex.Unlock()
		if away {
			return nil, false, http.ErrServerClosed
		}
		return accept.AuthenticateRequest(request)
	})
	next := l.watch("resourceVersion=" + decoded(t, l.wants(http.StatusOK, "", http.MethodGet, "/api/v1/pods", "", "")).ResourceVersion)
	mutex.Lock()
	away = true
	mutex.Unlock()
	l.control.Close()
	l.reviewWatches(t.Context(), true)
	l.put(0, "q")
	if kind, metadata, _ := next(); kind != "ADDED" || metadata.Name != "q" {
		t.Errorf("the watch gets %s %s", kind, metadata.Name)
	}
}
