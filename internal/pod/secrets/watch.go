package secrets

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watches watches the Secrets that streams follow, each once.
type watches struct {
	client kubernetes.Interface
	log    *slog.Logger
	report reporter

	mu   sync.Mutex
	open map[name]*watch
}

// watch is the watch of one Secret. Its fields are guarded by watches.mu.
type watch struct {
	stop      chan struct{}
	followers map[chan *corev1.Secret]struct{}
	// last is the last version with a valid certificate; nil if there was none.
	last *corev1.Secret
	// problem is why the current version is not in use; empty if it is.
	problem string
}

// follow returns a channel with the current version of a Secret and each later one that has another valid certificate;
// versions that are not received in time are skipped. stop must be called.
func (w *watches) follow(id name) (changes <-chan *corev1.Secret, stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.open[id]
	if one == nil {
		one = &watch{stop: make(chan struct{}), followers: map[chan *corev1.Secret]struct{}{}}
		w.open[id] = one
		go w.run(id, one)
	}
	out := make(chan *corev1.Secret, 1)
	one.followers[out] = struct{}{}
	if one.last != nil {
		out <- one.last
	}
	return out, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(one.followers, out); len(one.followers) == 0 {
			close(one.stop)
			delete(w.open, id)
		}
	}
}

// run watches a Secret until nobody follows it.
func (w *watches) run(id name, one *watch) {
	source := cache.NewListWatchFromClient(w.client.CoreV1().RESTClient(), "secrets", id.namespace,
		fields.OneTermEqualSelector("metadata.name", id.name))
	changed := func(object any) {
		if secret, ok := object.(*corev1.Secret); ok {
			w.changed(id, one, secret)
		}
	}
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.Secret{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) },
			DeleteFunc: func(any) { w.lacks(id, one, "it does not exist") },
		},
	})
	go func() {
		if cache.WaitForCacheSync(one.stop, informer.HasSynced) && len(store.ListKeys()) == 0 {
			w.lacks(id, one, "it does not exist")
		}
	}()
	informer.Run(one.stop)
}

// lacks notes that a Secret has no valid certificate, and what that means; or that it has one, without a problem.
func (w *watches) lacks(id name, one *watch, problem string) {
	w.mu.Lock()
	if problem != "" && one.last != nil {
		problem += "; the last certificate stays in use"
	} else if problem != "" {
		problem += "; connections to its hosts fail until it has a certificate"
	}
	again := problem == one.problem
	one.problem = problem
	w.mu.Unlock()
	switch {
	case again:
		return
	case problem == "":
		w.log.Info("Secret has a valid certificate again", "secret", id.namespace+"/"+id.name)
	default:
		w.log.Warn("Secret has no valid certificate", "secret", id.namespace+"/"+id.name, "problem", problem)
	}
	if w.report != nil {
		go w.report(id.namespace, id.name, problem) // a certificate does not wait for the event
	}
}

// changed sends a version of a Secret to the followers, unless it has the certificate of the last one or no valid one.
func (w *watches) changed(id name, one *watch, secret *corev1.Secret) {
	problem := problemOf(secret)
	if w.lacks(id, one, problem); problem != "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.last != nil && sameCertificate(one.last, secret) {
		return
	}
	one.last = secret
	for follower := range one.followers {
		select {
		case <-follower: // an older version
		default:
		}
		follower <- secret
	}
}

// problemOf returns why a Secret has no valid certificate, or "". It names the keys of the Secret.
func problemOf(secret *corev1.Secret) string {
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(secret.Data[key]) == 0 {
			return "it has no " + key
		}
	}
	if _, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return "tls.crt with tls.key: " + err.Error()
	}
	return ""
}

// problems returns the Secrets whose state is known, with their problems, which are empty if there are none. Secrets
// have the names that Envoy asks for.
func (w *watches) problems() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]string{}
	for id, one := range w.open {
		if one.problem != "" {
			out[id.String()] = fmt.Sprintf("Secret %s/%s: %s", id.namespace, id.name, one.problem)
		} else if one.last != nil {
			out[id.String()] = ""
		}
	}
	return out
}

func sameCertificate(a, b *corev1.Secret) bool {
	return bytes.Equal(a.Data[corev1.TLSCertKey], b.Data[corev1.TLSCertKey]) &&
		bytes.Equal(a.Data[corev1.TLSPrivateKeyKey], b.Data[corev1.TLSPrivateKeyKey])
}
