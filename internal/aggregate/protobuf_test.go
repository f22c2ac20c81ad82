package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/test/poll"
)

// protobufConfig is that of a client that does not accept JSON. Answers with another type fail.
func (l *lab) protobufConfig() *rest.Config {
	config := &rest.Config{Host: l.url, BearerToken: "jane", QPS: -1}
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeProtobuf, runtime.ContentTypeJSON
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return onlyProtobuf{l.t, next} })
	return config
}

type onlyProtobuf struct {
	t    *testing.T
	next http.RoundTripper
}

func (p onlyProtobuf) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := p.next.RoundTrip(r)
	if err == nil && !strings.HasPrefix(response.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
		p.t.Errorf("%s %s: the answer has the type %s", r.Method, r.URL, response.Header.Get("Content-Type"))
	}
	return response, err
}

func TestProtobufClient(t *testing.T) {
	l := newLab(t, 2)
	for i := range 7 {
		l.put(i%2, fmt.Sprintf("p%d", i))
	}
	client, err := kubernetes.NewForConfig(l.protobufConfig())
	if err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods("default")
	ctx := t.Context()
	_, _, text := l.do("jane", http.MethodGet, "/api/v1/namespaces/default/pods/p3", "", "")
	var want corev1.Pod
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	got, err := pods.Get(ctx, "p3", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want.TypeMeta, got.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
	if d := cmp.Diff(&want, got); d != "" || got.Annotations["resource.karmada.io/cached-from-cluster"] != "c2" {
		t.Errorf("JSON and protobuf differ, or there is no annotation: %s", d)
	}
	list, err := pods.List(ctx, metav1.ListOptions{Limit: 3})
	if err != nil || len(list.Items) != 3 || list.Continue == "" || *list.RemainingItemCount != 4 {
		t.Fatalf("page: %v, %v", list, err)
	}
	rest, err := pods.List(ctx, metav1.ListOptions{Continue: list.Continue})
	if err != nil || len(rest.Items) != 4 || rest.Items[0].Name != "p3" || rest.Continue != "" {
		t.Fatalf("second page: %v, %v", rest, err)
	}
	patched, err := pods.Patch(ctx, "p0", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	if err != nil || patched.Labels["a"] != "b" {
		t.Errorf("patch: %v, %v", patched, err)
	}
	patched.Labels["a"] = "c"
	updated, err := pods.Update(ctx, patched, metav1.UpdateOptions{})
	if err != nil || updated.Labels["a"] != "c" || updated.ResourceVersion == patched.ResourceVersion {
		t.Errorf("update: %v, %v", updated, err)
	}
	if _, err := pods.Update(ctx, patched, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update of an old version: %v", err)
	}
	if _, err := pods.Get(ctx, "absent", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	if err := pods.Delete(ctx, "p1", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// TestProtobufInformers guards the framing of events: initial events with their bookmark, changes and expiry.
func TestProtobufInformers(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "a")
	client, err := kubernetes.NewForConfig(l.protobufConfig())
	if err != nil {
		t.Fatal(err)
	}
	partial, err := metadata.NewForConfig(&rest.Config{Host: l.url, BearerToken: "jane"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactory(client, 0)
	typed := factory.Core().V1().Pods()
	metadataFactory := metadatainformer.NewSharedInformerFactory(partial, 0)
	untyped := metadataFactory.ForResource(podResource)
	typed.Informer()
	untyped.Informer()
	factory.Start(ctx.Done())
	metadataFactory.Start(ctx.Done())
	defer factory.Shutdown()
	defer metadataFactory.Shutdown()
	defer cancel()
	has := func(want ...string) {
		t.Helper()
		for _, store := range []interface{ ListKeys() []string }{typed.Informer().GetStore(), untyped.Informer().GetStore()} {
			poll.Until(t, fmt.Sprint(want), func() bool {
				keys := map[string]bool{}
				for _, key := range store.ListKeys() {
					keys[strings.TrimPrefix(key, "default/")] = true
				}
				wanted := map[string]bool{}
				for _, name := range want {
					wanted[name] = true
				}
				return cmp.Equal(keys, wanted)
			})
		}
	}
	has("a")
	l.put(1, "b")
	has("a", "b")
	l.members[0].Delete(podPath, "default", "a")
	has("b")
	l.members = l.members[:1] // The watch ends with an ERROR event, and the informer lists again.
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod"})
	has()
}

// TestProtobufOfMetadata guards metadata informers, which ask for protobuf first, also of custom resources.
func TestProtobufOfMetadata(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "a")
	const as = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	for _, c := range []struct {
		accept, path, media, kind string
		code                      int
	}{
		{rewrite.Protobuf + as, podPath, rewrite.Protobuf, "PartialObjectMetadataList", 200},
		{rewrite.Protobuf, podPath, rewrite.Protobuf, "PodList", 200},
		{rewrite.Protobuf + ",application/json", podPath, rewrite.JSON, "", 200},
		{rewrite.Protobuf + ",application/json;q=0.9", podPath, rewrite.Protobuf, "PodList", 200},
		{rewrite.Protobuf + ";as=Table;g=meta.k8s.io;v=v1", podPath, rewrite.JSON, "", 406},
		{rewrite.Protobuf, "/api/v1/namespaces/default/pods/absent", rewrite.Protobuf, "Status", 404},
		{"application/cbor", podPath, rewrite.JSON, "", 406},
	} {
		code, media, body := l.accept(c.accept, c.path)
		if code != c.code || media != c.media {
			t.Errorf("%s of %s: %d %s", c.accept, c.path, code, media)
		}
		if media != rewrite.Protobuf {
			continue
		}
		var u runtime.Unknown
		if err := u.Unmarshal(body[len(protobufMagic):]); err != nil || u.Kind != c.kind {
			t.Errorf("%s of %s: %+v, %v", c.accept, c.path, u.TypeMeta, err)
		}
		if c.kind != "PodList" {
			continue
		}
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if pods, ok := o.(*corev1.PodList); !ok || len(pods.Items) != 1 || pods.ResourceVersion == "" {
			t.Errorf("%T %v, %v", o, o, err)
		}
	}
}

// TestCustomResourcesHaveNoProtobuf guards clients that would read JSON as protobuf.
func TestCustomResourcesHaveNoProtobuf(t *testing.T) {
	l := newLab(t, 1)
	l.configure(searchv1.ResourceSelector{APIVersion: "example.org/v1", Kind: "Widget"})
	l.members[0].Put("/apis/example.org/v1/widgets", membertest.Object{
		"kind": "Widget", "apiVersion": "example.org/v1",
		"metadata": membertest.Object{"name": "w", "namespace": "default", "uid": "u"},
	})
	const widget = "/apis/example.org/v1/namespaces/default/widgets/w"
	poll.Until(t, "widget", func() bool { code, _, _ := l.accept("application/json", widget); return code == 200 })
	if code, _, body := l.accept(rewrite.Protobuf, widget); code != http.StatusNotAcceptable {
		t.Errorf("%d %s", code, body)
	}
	code, media, body := l.accept(rewrite.Protobuf+";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", widget)
	if code != http.StatusOK || media != rewrite.Protobuf || !strings.Contains(string(body), "PartialObjectMetadata") {
		t.Errorf("%d %s %q", code, media, body)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, l.url+widget, strings.NewReader(`{"a":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer jane"}, "Accept": {rewrite.Protobuf}, "Content-Type": {"application/merge-patch+json"},
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusNotAcceptable || len(l.members[0].Requests()) > 0 {
		t.Errorf("a write whose answer cannot be read: %d, %v", response.StatusCode, l.members[0].Requests())
	}
}

// accept sends a GET with an Accept header.
func (l *lab) accept(media, path string) (int, string, []byte) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.url+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer jane"}, "Accept": {media}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), body
}
