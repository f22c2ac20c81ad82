package xds

import (
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
)

// request is what a client asks or answers, in either variant of the protocol.
type request struct {
	node    *corev3.Node
	typeURL string
	nonce   string
	failure *statuspb.Status

	// Of the incremental variant.
	subscribe, unsubscribe []string
	versions               map[string]string

	// Of the state-of-the-world variant: all that is subscribed to.
	names []string
}

func deltaRequest(r *discoveryv3.DeltaDiscoveryRequest) request {
	return request{
		node: r.GetNode(), typeURL: r.GetTypeUrl(), nonce: r.GetResponseNonce(), failure: r.GetErrorDetail(),
		subscribe: r.GetResourceNamesSubscribe(), unsubscribe: r.GetResourceNamesUnsubscribe(), versions: r.GetInitialResourceVersions(),
	}
}

func worldRequest(r *discoveryv3.DiscoveryRequest) request {
	return request{
		node: r.GetNode(), typeURL: r.GetTypeUrl(), nonce: r.GetResponseNonce(), failure: r.GetErrorDetail(), names: r.GetResourceNames(),
	}
}

// check refuses what is out of bounds, before anything of it is kept.
func (r *request) check(o *Options) error {
	if r.typeURL == "" {
		return refuse(reasonMalformed, codes.InvalidArgument, "type_url is empty")
	}
	if len(r.typeURL) > o.NameSize {
		return refuse(reasonName, codes.InvalidArgument, "type_url is over %d bytes", o.NameSize)
	}
	if max(len(r.subscribe), len(r.names), len(r.versions)) > o.NamesPerType {
		return tooManyNames(o, r.typeURL)
	}
	for _, names := range [][]string{r.subscribe, r.unsubscribe, r.names} {
		for _, name := range names {
			if err := checkName(o, name); err != nil {
				return err
			}
		}
	}
	for name := range r.versions {
		if err := checkName(o, name); err != nil {
			return err
		}
	}
	return nil
}

// checkName: the decoder checks UTF-8, too; a name goes back in responses, so it has to hold.
func checkName(o *Options, name string) error {
	if name == "" || len(name) > o.NameSize || !utf8.ValidString(name) {
		return refuse(reasonName, codes.InvalidArgument, "a resource name of %d bytes, want 1 to %d in UTF-8", len(name), o.NameSize)
	}
	return nil
}

func tooManyNames(o *Options, typeURL string) error {
	return refuse(reasonNames, codes.ResourceExhausted, "more than %d names of type %s", o.NamesPerType, typeURL)
}
