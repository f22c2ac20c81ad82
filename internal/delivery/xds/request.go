package xds

import (
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
)

// request is a DiscoveryRequest or DeltaDiscoveryRequest.
type request struct {
	node        *corev3.Node
	typeURL     string
	nonce       string
	errorDetail *statuspb.Status

	// Incremental variant only.
	subscribe, unsubscribe []string
	versions               []nameVersion

	// State-of-the-world variant only: all names of the subscription.
	sotwNames []string
}

func deltaRequest(r *discoveryv3.DeltaDiscoveryRequest) request {
	out := request{
		node: r.GetNode(), typeURL: r.GetTypeUrl(), nonce: r.GetResponseNonce(), errorDetail: r.GetErrorDetail(),
		subscribe: r.GetResourceNamesSubscribe(), unsubscribe: r.GetResourceNamesUnsubscribe(),
	}
	for name, version := range r.GetInitialResourceVersions() {
		out.versions = append(out.versions, nameVersion{name, version})
	}
	return out
}

func sotwRequest(r *discoveryv3.DiscoveryRequest) request {
	return request{
		node: r.GetNode(), typeURL: r.GetTypeUrl(), nonce: r.GetResponseNonce(), errorDetail: r.GetErrorDetail(),
		sotwNames: r.GetResourceNames(),
	}
}

// release releases the lists of a decoded request, which must not be used any more.
func (r *request) release() {
	nameLists.put(r.subscribe)
	nameLists.put(r.unsubscribe)
	nameLists.put(r.sotwNames)
	versionLists.put(r.versions)
}

// check checks the limits on the request, before any part of it is stored.
func (r *request) check(o *Options) error {
	if r.typeURL == "" {
		return refuse(reasonMalformed, codes.InvalidArgument, "type_url is empty")
	}
	if len(r.typeURL) > o.MaxNameSize {
		return refuse(reasonResourceName, codes.InvalidArgument, "type_url is over %d bytes", o.MaxNameSize)
	}
	if max(len(r.subscribe), len(r.sotwNames), len(r.versions)) > o.MaxNamesPerType {
		return tooManyNames(o, r.typeURL)
	}
	for _, names := range [][]string{r.subscribe, r.unsubscribe, r.sotwNames} {
		for _, name := range names {
			if err := checkName(o, name); err != nil {
				return err
			}
		}
	}
	for _, v := range r.versions {
		if err := checkName(o, v.name); err != nil {
			return err
		}
	}
	return nil
}

// checkName checks one name. UTF-8 is checked although the decoder does: responses repeat the name and must encode.
func checkName(o *Options, name string) error {
	if name == "" || len(name) > o.MaxNameSize || !utf8.ValidString(name) {
		return refuse(reasonResourceName, codes.InvalidArgument,
			"a resource name has %d bytes, want 1 to %d bytes of UTF-8", len(name), o.MaxNameSize)
	}
	return nil
}

func tooManyNames(o *Options, typeURL string) error {
	return refuse(reasonResourceNames, codes.ResourceExhausted, "more than %d names of type %s", o.MaxNamesPerType,
		typeURL)
}
