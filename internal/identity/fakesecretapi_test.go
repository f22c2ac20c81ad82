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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

const testNamespace = "anymesh-system"

// fakeSecretAPI is an API server with one Secret. It rejects updates of old resource versions.
type fakeSecretAPI struct {
	mu      sync.Mutex
	secret  *corev1.Secret
	version int
	writes  int
	down    bool
	watches []*watch.RaceFreeFakeWatcher
	kube    *fake.Clientset // with the record
}

func (s *fakeSecretAPI) client() kubernetes.Interface {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kube != nil {
		return s.kube
	}
	c := fake.NewClientset()
	s.kube = c
	c.PrependReactor("*", "secrets", func(a ktesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		resource := schema.GroupResource{Resource: "secrets"}
		if s.down {
			return true, nil, errors.New("etcd unavailable")
		}
		switch a := a.(type) {
		case ktesting.UpdateAction: // and CreateAction, which has the same methods
			in := a.GetObject().(*corev1.Secret).DeepCopy()
			switch {
			case a.GetVerb() == "create" && s.secret != nil:
				return true, nil, apierrors.NewAlreadyExists(resource, CASecret)
			case a.GetVerb() == "update" && s.secret == nil:
				return true, nil, apierrors.NewNotFound(resource, CASecret)
			case a.GetVerb() == "update" && in.ResourceVersion != s.secret.ResourceVersion:
				return true, nil, apierrors.NewConflict(resource, CASecret, errors.New("it has changed"))
			}
			s.writes++
			s.store(in)
			return true, s.secret.DeepCopy(), nil
		case ktesting.ListAction:
			list := &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}
			if s.secret != nil {
				list.Items = append(list.Items, *s.secret.DeepCopy())
			}
			return true, list, nil
		default:
			if s.secret == nil {
				return true, nil, apierrors.NewNotFound(resource, CASecret)
			}
			return true, s.secret.DeepCopy(), nil
		}
	})
	c.PrependWatchReactor("secrets", func(ktesting.Action) (bool, watch.Interface, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		w := watch.NewRaceFreeFake()
		s.watches = append(s.watches, w)
		return true, w, nil
	})
	return c
}

func (s *fakeSecretAPI) store(in *corev1.Secret) {
	s.version++
	in.ResourceVersion = strconv.Itoa(s.version)
	s.secret = in
	for _, w := range s.watches {
		w.Modify(in.DeepCopy())
	}
}

// edit changes the Secret as a user does.
func (s *fakeSecretAPI) edit(change func(*corev1.Secret)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.secret.DeepCopy()
	change(in)
	s.store(in)
}

func (s *fakeSecretAPI) requestRotation() {
	s.edit(func(in *corev1.Secret) { in.Annotations[RotateAnnotation] = "please" })
}

func (s *fakeSecretAPI) open(t testing.TB, opts CAStoreOptions, now func() time.Time) *CAStore {
	t.Helper()
	opts.Namespace = testNamespace
	if opts.TrustDomain == "" {
		opts.TrustDomain = "cluster.local"
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	k, err := openCAStore(t.Context(), s.client(), opts, now)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// fakeClock is a clock that tests advance.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func newFakeClock() *fakeClock { return &fakeClock{now: time.Now().Truncate(time.Second)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
