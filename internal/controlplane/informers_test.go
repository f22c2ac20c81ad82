package controlplane

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	appmesh "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// TestInformersBeginWithLists checks that informers of custom resources begin with a list, and those of built-in kinds
// with a stream.
func TestInformersBeginWithLists(t *testing.T) {
	for _, c := range []struct {
		object runtime.Object
		want   string
	}{
		{&appmesh.VirtualNode{}, "list"},
		{&corev1.Pod{}, "watch"},
	} {
		first := make(chan string, 1)
		note := func(request string) error {
			select {
			case first <- request:
			default:
			}
			return errors.New("the test needs no objects")
		}
		informer := newInformer(&toolscache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return nil, note("list")
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, note("watch")
			},
		}, c.object, 0, nil)
		go informer.RunWithContext(t.Context())
		if got := <-first; got != c.want {
			t.Errorf("%T: the first request is a %s, want a %s", c.object, got, c.want)
		}
	}
}
