package cache_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// journal is a client that watches from the version of a list and of each bookmark. At each of these versions it has to
// have the state of the members, and each event has to fit what it has.
type journal struct {
	name   string
	client kubernetes.Interface
	view   view
	oracle *oracle

	mutex sync.Mutex
	// now has all events; err is the first violation.
	now contents
	err error
}

// run lists and watches until a violation.
func (j *journal) run(ctx context.Context) {
	at, state := "", contents{}
	for n := 0; ctx.Err() == nil && j.violation() == nil; n++ {
		if at == "" {
			at, state = j.list(ctx, []string{"", "0"}[n%2])
		}
		if at != "" {
			at, state = j.watch(ctx, at, state)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond): // between attempts
		}
	}
}

func (j *journal) violation() error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.err
}

// violate records a violation, unless the test ended.
func (j *journal) violate(ctx context.Context, err error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.err == nil && ctx.Err() == nil {
		j.err = err
	}
}

func (j *journal) set(now contents) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.now = maps.Clone(now)
}

// has returns an error if the client has something else, or had at any version.
func (j *journal) has(want contents) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.err != nil {
		return fmt.Errorf("journal %s: %w", j.name, j.err)
	}
	return equal("journal "+j.name, j.now, want)
}

// list returns a version and its state. The version is empty after an error.
func (j *journal) list(ctx context.Context, from string) (string, contents) {
	o := metav1.ListOptions{LabelSelector: j.view.label, FieldSelector: j.view.field, ResourceVersion: from}
	list, err := j.client.CoreV1().Pods("").List(ctx, o)
	if err != nil {
		return "", nil
	}
	state := contents{}
	for _, p := range list.Items {
		text, _, err := contentOf(&p)
		if err != nil {
			j.violate(ctx, err)
		}
		state[p.Namespace+"/"+p.Name] = text
	}
	if err := j.oracle.check(list.ResourceVersion, state, j.view); err != nil {
		j.violate(ctx, fmt.Errorf("list: %w", err))
	}
	j.set(state)
	return list.ResourceVersion, state
}

// watch returns the last bookmark and its state, or an empty version after 410.
func (j *journal) watch(ctx context.Context, at string, state contents) (string, contents) {
	seconds := int64(5)
	w, err := j.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{
		LabelSelector: j.view.label, FieldSelector: j.view.field, ResourceVersion: at, AllowWatchBookmarks: true,
		TimeoutSeconds: &seconds,
	})
	if err != nil {
		if apierrors.IsResourceExpired(err) {
			at = ""
		}
		return at, state
	}
	defer w.Stop()
	now, last := maps.Clone(state), positions(at)
	j.set(now)
	for e := range w.ResultChan() {
		p, ok := e.Object.(*corev1.Pod)
		switch {
		case !ok && apierrors.IsResourceExpired(apierrors.FromObject(e.Object)):
			return "", nil
		case !ok: // the connection broke within an event
			return at, state
		case e.Type != watch.Bookmark:
			err = j.event(e.Type, p, now, last)
		default:
			if err = j.oracle.check(p.ResourceVersion, now, j.view); err == nil {
				err = forward(last, positions(p.ResourceVersion))
			}
			at, state = p.ResourceVersion, maps.Clone(now)
		}
		if err != nil {
			j.violate(ctx, fmt.Errorf("%s after %s: %w", e.Type, decodeVersion(at), err))
			return at, state
		}
		j.set(now)
	}
	return at, state
}

// positions are the versions of the clusters in a global version.
func positions(text string) map[string]uint64 {
	out := map[string]uint64{}
	if v, err := version.Parse(text); err == nil {
		for _, c := range v.Components {
			out[c.Cluster] = c.Version
		}
	}
	return out
}

// forward checks that no position goes back, and replaces the positions.
func forward(last, next map[string]uint64) error {
	for cluster, at := range last {
		if now, ok := next[cluster]; ok && now < at {
			return fmt.Errorf("cluster %s is at %d after %d", cluster, now, at)
		}
	}
	clear(last)
	maps.Copy(last, next)
	return nil
}

// event applies an event, which has to fit.
func (j *journal) event(kind watch.EventType, p *corev1.Pod, now contents, last map[string]uint64) error {
	key := p.Namespace + "/" + p.Name
	text, c, err := contentOf(p)
	if err != nil {
		return err
	}
	if _, has := now[key]; has != (kind != watch.Added) {
		return fmt.Errorf("pod %s of %s, which the client has: %v", key, text, has)
	}
	if c.Version < last[c.Cluster] {
		return fmt.Errorf("pod %s of %s, after %d", key, text, last[c.Cluster])
	}
	last[c.Cluster] = c.Version
	if kind == watch.Deleted {
		delete(now, key)
	} else {
		now[key] = text
	}
	return nil
}
