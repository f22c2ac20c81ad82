// Package conversion converts objects between the versions of their kinds, for API servers.
//
// In: reviews of API servers, and the dialects whose kinds have versions that differ. Out: the converted objects.
package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"anymesh.dev/anymesh/internal/dialect"
)

// Path is the URL path of the webhook.
const Path = "/convert"

// MaxReviewSize limits the body of a review of an API server, of which a list of all objects of a kind is one.
// MaxOtherReviewSize limits those of others.
const (
	MaxReviewSize      = 16 << 20
	MaxOtherReviewSize = 1 << 20
)

// Handler converts the objects of reviews, one at a time of API servers and one of others. It keeps no state, and needs
// no other part of the control plane: API servers convert objects before the control plane can list them. isServer
// reports whether an address is that of an API server. Reviews that are too large or invalid are counted in
// anymesh_conversion_refused_total.
func Handler(
	dialects []dialect.Dialect, isServer func(netip.Addr) bool, registerer prometheus.Registerer,
) http.Handler {
	refused := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "anymesh_conversion_refused_total",
		Help: "ConversionReviews that were too large, or could not be read.",
	})
	registerer.MustRegister(refused)
	servers, others := make(chan struct{}, 1), make(chan struct{}, 1)
	by := map[schema.GroupKind]dialect.Conversions{}
	for _, d := range dialect.Implementing[dialect.Conversions](dialects) {
		for _, kind := range d.ConvertedKinds() {
			by[kind] = d
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn, limit := others, int64(MaxOtherReviewSize)
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && isServer(from.Addr().Unmap()) {
			turn, limit = servers, MaxReviewSize
		}
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-r.Context().Done():
			return
		}
		var review apiextensionsv1.ConversionReview
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(&review)
		if err != nil || review.Request == nil {
			refused.Inc()
			http.Error(w, "the body is not a ConversionReview", http.StatusBadRequest)
			return
		}
		review.Response = respond(by, review.Request)
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	})
}

func respond(by map[schema.GroupKind]dialect.Conversions,
	request *apiextensionsv1.ConversionRequest) *apiextensionsv1.ConversionResponse {
	out := &apiextensionsv1.ConversionResponse{UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, o := range request.Objects {
		converted, err := convert(by, o.Raw, request.DesiredAPIVersion)
		if err != nil {
			out.ConvertedObjects = nil
			out.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			return out
		}
		out.ConvertedObjects = append(out.ConvertedObjects, runtime.RawExtension{Raw: converted})
	}
	return out
}

// convert returns an object in another version.
func convert(by map[schema.GroupKind]dialect.Conversions, raw []byte, apiVersion string) ([]byte, error) {
	var o map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &o); err != nil {
		return nil, fmt.Errorf("the object cannot be read: %w", err)
	}
	kind, _ := o["kind"].(string)
	to, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	d, known := by[schema.GroupKind{Group: to.Group, Kind: kind}]
	if !known {
		return nil, fmt.Errorf("%s of %s has no versions that differ", kind, to.Group)
	}
	if err := d.Convert(o, to.Version); err != nil {
		return nil, fmt.Errorf("%s to %s: %w", kind, apiVersion, err)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(o)
	return b.Bytes(), err
}
