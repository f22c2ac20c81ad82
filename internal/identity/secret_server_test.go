package identity

import (
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

const testNamespace = "anymesh-system"

// secretServer keeps one Secret, with versions as an API server has them: who writes on an old one is refused.
type secretServer struct {
	mu      sync.Mutex
	secret  *corev1.Secret
	version int
	writes  int
	down    bool
}

func (s *secretServer) client() kubernetes.Interface {
	c := fake.NewClientset()
	c.PrependReactor("*", "secrets", func(a ktesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		resource := schema.GroupResource{Resource: "secrets"}
		if s.down {
			return true, nil, errors.New("etcd is away")
		}
		switch a := a.(type) {
		case ktesting.UpdateAction: // and CreateAction, which has the same methods
			in := a.GetObject().(*corev1.Secret).DeepCopy()
			switch {
			case a.GetVerb() == "create" && s.secret != nil:
				return true, nil, apierrors.NewAlreadyExists(resource, CASecret)
			case a.GetVerb() == "update" && in.ResourceVersion != s.secret.ResourceVersion:
				return true, nil, apierrors.NewConflict(resource, CASecret, errors.New("it has changed"))
			}
			s.writes++
			s.put(in)
			return true, s.secret.DeepCopy(), nil
		default:
			if s.secret == nil {
				return true, nil, apierrors.NewNotFound(resource, CASecret)
			}
			return true, s.secret.DeepCopy(), nil
		}
	})
	return c
}

func (s *secretServer) put(in *corev1.Secret) {
	s.version++
	in.ResourceVersion = strconv.Itoa(s.version)
	s.secret = in
}

// edit changes the Secret as a person does.
func (s *secretServer) edit(change func(*corev1.Secret)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.secret.DeepCopy()
	change(in)
	s.put(in)
}

func (s *secretServer) askForANewRoot() {
	s.edit(func(in *corev1.Secret) { in.Annotations[RotateAnnotation] = "please" })
}

func (s *secretServer) open(t testing.TB, opts KeeperOptions, now func() time.Time) *Keeper {
	t.Helper()
	opts.Namespace, opts.TrustDomain = testNamespace, "cluster.local"
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	k, err := openKeeper(t.Context(), s.client(), opts, now)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now().Truncate(time.Second)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
