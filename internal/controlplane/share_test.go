package controlplane

import (
	"context"
	"reflect"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	appmesh "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// sharedNode returns a VirtualNode as it is decoded: it shares nothing with another one.
func sharedNode(name string) *appmesh.VirtualNode {
	seconds := metav1.NewTime(time.Unix(1e9, 0))
	return &appmesh.VirtualNode{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1},
		Spec: appmesh.VirtualNodeSpec{
			MeshRef:     &appmesh.MeshReference{Name: string([]byte("mesh")), UID: "1-2"},
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Listeners: []appmesh.Listener{{
				PortMapping: appmesh.PortMapping{Port: 8080, Protocol: appmesh.PortProtocol([]byte("http"))},
			}},
			ServiceDiscovery: &appmesh.ServiceDiscovery{AWSCloudMap: &appmesh.AWSCloudMapServiceDiscovery{
				NamespaceName: string([]byte("cloud")), ServiceName: name,
			}},
		},
		Status: appmesh.VirtualNodeStatus{
			Conditions: []appmesh.Condition{{Type: "VirtualNodeActive", Status: "True", LastTransitionTime: &seconds}},
		},
	}
}

// TestShare checks that an object shares equal values with another one, and keeps those that differ.
func TestShare(t *testing.T) {
	blue, green := sharedNode("blue"), sharedNode("green")
	green.Spec.Listeners = append(green.Spec.Listeners, appmesh.Listener{PortMapping: appmesh.PortMapping{Port: 9090}})
	want := green.DeepCopy()
	share(blue, green)
	if !reflect.DeepEqual(green, want) {
		t.Errorf("the object is changed to %v, want %v", green, want)
	}
	if green.Spec.MeshRef != blue.Spec.MeshRef {
		t.Error("equal pointers are not shared")
	}
	if &green.Status.Conditions[0] != &blue.Status.Conditions[0] {
		t.Error("equal lists are not shared")
	}
	a, b := blue.Spec.ServiceDiscovery.AWSCloudMap, green.Spec.ServiceDiscovery.AWSCloudMap
	if unsafe.StringData(a.NamespaceName) != unsafe.StringData(b.NamespaceName) || a.ServiceName == b.ServiceName {
		t.Error("equal strings of a value that differs are not shared")
	}
}

// TestShareKeepsLists checks that elements of a list that differs are not written: the list may be that of other
// objects, too.
func TestShareKeepsLists(t *testing.T) {
	blue, green := sharedNode("blue"), sharedNode("green")
	green.Spec.Listeners = append(green.Spec.Listeners, appmesh.Listener{})
	protocol := unsafe.StringData(string(green.Spec.Listeners[0].PortMapping.Protocol))
	share(blue, green)
	if unsafe.StringData(string(green.Spec.Listeners[0].PortMapping.Protocol)) != protocol {
		t.Error("the list is written")
	}
}

// TestShareKeepsValues checks that values of any kind stay the same, whatever the other object has.
func TestShareKeepsValues(t *testing.T) {
	now := metav1.Now()
	seconds := int64(5)
	secrets := []*corev1.Secret{
		{},
		{Data: map[string][]byte{"a": []byte("b")}, Type: "t"},
		{Data: map[string][]byte{"a": []byte("c")}, Type: "u"},
		{Data: map[string][]byte{}, Immutable: new(bool)},
		{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{}, DeletionTimestamp: &now}},
		{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"a", "b"}, DeletionGracePeriodSeconds: &seconds}},
		{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"a"}, CreationTimestamp: now}},
	}
	for i, from := range secrets {
		for j, to := range secrets {
			from, got := from.DeepCopy(), to.DeepCopy()
			share(from, got)
			if !reflect.DeepEqual(got, to) {
				t.Errorf("secret %d after sharing with %d: got %v, want %v", j, i, got, to)
			}
		}
	}
	share(secrets[1], &corev1.ConfigMap{}) // of another kind
}

// TestNewObjectsShare checks that a new object of an informer shares values with the one before it.
func TestNewObjectsShare(t *testing.T) {
	informer := newInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &appmesh.VirtualNodeList{Items: []appmesh.VirtualNode{*sharedNode("blue"), *sharedNode("green")}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewFake(), nil
		},
	}, &appmesh.VirtualNode{}, 0, nil)
	if err := informer.SetTransform(trimMetadata); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(t.Context())
	if !toolscache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer has no objects")
	}
	stored := func(name string) *appmesh.VirtualNode {
		o, _, err := informer.GetIndexer().Get(&appmesh.VirtualNode{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		return o.(*appmesh.VirtualNode)
	}
	if stored("blue").Spec.MeshRef != stored("green").Spec.MeshRef {
		t.Error("new objects share nothing")
	}
}
