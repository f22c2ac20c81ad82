package controlplane

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
)

// newInformer returns an informer. Those of custom resources begin with a list, and not with a stream of initial
// events: client-go scans each JSON event five times, and a list twice. Built-in kinds are protobuf, and begin with a
// stream, which needs less memory than a list of all pods. It has no indexes: nothing lists the cached objects.
func newInformer(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration,
	_ toolscache.Indexers) toolscache.SharedIndexInformer {
	if _, _, err := kubescheme.Scheme.ObjectKinds(object); err != nil {
		source = listFirst{source, toolscache.ToListerWatcherWithContext(source)}
	}
	return sharingInformer{toolscache.NewSharedIndexInformer(source, object, resync, toolscache.Indexers{})}
}

// listFirst is a source whose informers begin with a list.
type listFirst struct {
	toolscache.ListerWatcher
	toolscache.ListerWatcherWithContext
}

// IsWatchListSemanticsUnSupported has the name that client-go asks for.
func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }
