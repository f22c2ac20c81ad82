package aggregate

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
)

// apiServiceInterval is the time between checks of the APIService: applying the manifests again clears its caBundle.
const apiServiceInterval = 2 * time.Second

var (
	apiServiceName = searchv1.GroupVersion.Version + "." + searchv1.GroupVersion.Group
	apiServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
)

// Service is the Service of the aggregator in the control plane, to which the APIService of its group version refers.
type Service struct {
	types.NamespacedName
	// Bundle returns the CAs of the serving certificate, in PEM.
	Bundle func() []byte
}

// trustService keeps the caBundle of the APIService up to date until the context ends.
func (s *Server) trustService(ctx context.Context) {
	last := ""
	for {
		text := ""
		if err := s.updateBundle(ctx); err != nil && ctx.Err() == nil {
			text = err.Error()
		}
		if text != "" && text != last {
			s.config.Log.Warn("caBundle of the APIService is not updated; retrying", "error", text)
		}
		last = text
		select {
		case <-ctx.Done():
			return
		case <-time.After(apiServiceInterval):
		}
	}
}

// updateBundle does nothing if there is no APIService: then clients use the address of the aggregator.
func (s *Server) updateBundle(ctx context.Context) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(apiServiceKind)
	err := s.kube.Get(ctx, types.NamespacedName{Name: apiServiceName}, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("APIService %s: %w", apiServiceName, err)
	}
	namespace, _, _ := unstructured.NestedString(o.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(o.Object, "spec", "service", "name")
	if (types.NamespacedName{Namespace: namespace, Name: name}) != s.config.Service.NamespacedName {
		return fmt.Errorf("APIService %s: spec.service is %s/%s; remove the APIService of the other server, or set "+
			"aggregator.apiService to false in the Helm values", apiServiceName, namespace, name)
	}
	want := base64.StdEncoding.EncodeToString(s.config.Service.Bundle())
	if bundle, _, _ := unstructured.NestedString(o.Object, "spec", "caBundle"); bundle == want {
		return nil
	}
	old := o.DeepCopy()
	if err := unstructured.SetNestedField(o.Object, want, "spec", "caBundle"); err != nil {
		return fmt.Errorf("APIService %s: %w", apiServiceName, err)
	}
	if err := s.kube.Patch(ctx, o, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("APIService %s: %w", apiServiceName, err)
	}
	return nil
}
