package aggregate

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/rest"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/fleet"
	"anymesh.dev/anymesh/test/poll"
)

const podPath = "/api/v1/pods"

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// lab is a server over members c1, c2, … without their control plane's authentication: the bearer token is the name
// of the user. Each request has to be allowed by the rule.
type lab struct {
	*Server
	t       *testing.T
	members []*membertest.Member
	control *membertest.Member
	url     string
	// late is how many of the last members joined after the start.
	late int
	// allow decides about "USER VERB RESOURCE NAME".
	allow func(string) bool
}

func newLab(t *testing.T, n int) *lab {
	t.Helper()
	return newLabWith(t, n, Config{})
}

func newLabWith(t *testing.T, n int, config Config) *lab {
	t.Helper()
	config.Log = slog.New(slog.DiscardHandler)
	l := &lab{t: t, control: membertest.New(), allow: func(string) bool { return true }}
	t.Cleanup(l.control.Close)
	counters := newMetrics()
	l.Server = &Server{
		config: config, metrics: counters, inFlight: newInFlight(100, 100, counters),
		authentications: newAuthentications(2, 3, counters),
		readTimeout:     ReadTimeout, writeTimeout: WriteTimeout,
		cache: cache.New(cache.Options{
			MaxBackoff: 100 * time.Millisecond, BookmarkDelay: 20 * time.Millisecond, WaitTimeout: time.Second,
			Integers: config.IntegerVersions, JoinGrace: config.StartGrace,
		}),
		authenticator: authenticator.RequestFunc(byToken),
		authorizer:    authorizer.AuthorizerFunc(l.authorize),
		controlPlane:  endpoint(t, l.control),
	}
	l.view.Store(&view{})
	for range n {
		m := membertest.New()
		t.Cleanup(m.Close)
		l.members = append(l.members, m)
	}
	t.Cleanup(l.cache.Close) // before the members end, or it connects again
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod"})
	poll.Until(t, "lists of all members", func() bool {
		return !slices.ContainsFunc(l.cache.Status(), func(s cache.Status) bool { return !s.Synced })
	})
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	l.url = server.URL
	return l
}

func (l *lab) authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	what := strings.Join([]string{a.GetUser().GetName(), a.GetVerb(), a.GetResource(), a.GetName()}, " ")
	if l.allow(what) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func byToken(r *http.Request) (*authenticator.Response, bool, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return &authenticator.Response{User: &user.DefaultInfo{Name: name, Groups: []string{"dev"}}}, ok, nil
}

func endpoint(t *testing.T, m *membertest.Member) *fleet.Endpoint {
	t.Helper()
	e, err := fleet.NewEndpoint(&rest.Config{Host: m.URL(), BearerToken: "aggregator"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// configure makes the members and the registered kinds what a refresh does.
func (l *lab) configure(selectors ...searchv1.ResourceSelector) {
	l.t.Helper()
	var members []fleet.Member
	for i, m := range l.members {
		member := cluster(fmt.Sprintf("c%d", i+1), "x")
		member.Identity, member.Ready = fmt.Sprintf("uid-%d", i+1), true
		member.Late = i >= len(l.members)-l.late
		member.Reader = endpoint(l.t, m)
		member.Impersonator = member.Reader
		members = append(members, member)
	}
	registries := []searchv1.ResourceRegistry{registry("r", searchv1.ClusterAffinity{}, selectors...)}
	next := &view{members: members, selected: selectKinds(registries, members, cluster("", "").Resources)}
	if err := l.install(next); err != nil {
		l.t.Fatal(err)
	}
}

// put stores a pod in a member, and waits until the cache has it.
func (l *lab) put(member int, name string) {
	l.t.Helper()
	at := l.members[member].Put(podPath, membertest.Object{
		"kind": "Pod", "apiVersion": "v1", "spec": membertest.Object{"nodeName": "n"},
		"metadata": membertest.Object{
			"name": name, "namespace": "default", "uid": "uid-" + name + fmt.Sprint(member), "annotations": membertest.Object{"a": "b"},
		},
	})
	poll.Until(l.t, "pod "+name+" in the cache", func() bool {
		return l.cache.Wait(l.t.Context(), podResource, fmt.Sprintf("c%d", member+1), at) == nil
	})
}

// do sends a request as a user, and returns the answer.
func (l *lab) do(as, method, path, contentType, body string) (int, http.Header, string) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+as)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(answer)
}

// wants sends a request of user jane, and checks the code and a text of the answer.
func (l *lab) wants(code int, text, method, path, contentType, body string) string {
	l.t.Helper()
	got, _, answer := l.do("jane", method, path, contentType, body)
	if got != code || !strings.Contains(answer, text) {
		l.t.Errorf("%s %s %s: got %d, want %d and %q: %s", method, path, body, got, code, text, answer)
	}
	return answer
}
