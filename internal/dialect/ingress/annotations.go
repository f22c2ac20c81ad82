package ingress

import (
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/model"
)

// annotations returns a path with the settings of the annotations. It reports false if one is invalid, or asks for a
// protection that the gateway does not have: the Ingress is then not served.
func (r *ingressRule) annotations(o *networkingv1.Ingress, at model.Origin) (gateway.Path, bool) {
	var out gateway.Path
	rewrite := &model.Rewrite{}
	valid := true
	for _, a := range []struct {
		name  string
		parse func(value string) error
	}{
		{api.RewritePrefix, func(v string) error {
			prefix, err := api.ParseRewritePrefix(v)
			rewrite.PathPrefix, out.Rewrite = &prefix, rewrite
			return err
		}},
		{api.RequestHeaders, func(v string) error {
			headers, err := api.ParseRequestHeaders(v)
			for _, h := range headers {
				rewrite.Headers = append(rewrite.Headers, model.Header{Name: strings.ToLower(h.Name), Value: h.Value})
			}
			out.Rewrite = rewrite
			return err
		}},
		{api.ReadTimeout, func(v string) error {
			d, err := api.ParseTimeout(api.ReadTimeout, v)
			out.Timeouts.Idle = model.Duration(d)
			return err
		}},
		{api.SendTimeout, func(v string) error {
			d, err := api.ParseTimeout(api.SendTimeout, v)
			out.Backend.SendTimeout = model.Duration(d)
			return err
		}},
		{api.DefaultBackend, func(v string) error {
			s, err := api.ParseDefaultBackend(v)
			out.Fallback = gateway.Backend{Service: types.NamespacedName{Namespace: o.Namespace, Name: s.Name}, Number: s.Port}
			return err
		}},
	} {
		value, set := o.Annotations[a.name]
		if !set {
			continue
		}
		if err := a.parse(value); err != nil {
			valid = false
			r.report(at.At("metadata.annotations"), model.CodeInvalidField, "%s; the Ingress is not served", err)
		}
	}
	if out.Fallback != (gateway.Backend{}) {
		out.Fallback.SendTimeout = out.Backend.SendTimeout
	}
	var err error
	if out.Clients, err = clientRanges(o.Annotations); err != nil {
		valid = false
		r.report(at.At("metadata.annotations"), model.CodeInvalidField, "%s; the Ingress is not served", err)
	}
	var served bool
	out.Canary, served = r.foreignAnnotations(o, at)
	return out, served && valid
}

// foreignPrefix is the prefix of the annotations of ingress-nginx, which many manifests have.
const foreignPrefix = "nginx.ingress.kubernetes.io/"

// protecting are the annotations of ingress-nginx, by their beginnings, that restrict who gets a response.
// See clientRanges for those with addresses.
var protecting = []string{"auth-", "allowlist-", "whitelist-", "denylist-", "satisfy", "enable-modsecurity", "modsecurity-"}

// foreignAnnotations reports the annotations of ingress-nginx that have no effect, and returns what makes the Ingress a
// canary. It reports false if the Ingress is not served: an annotation protects the backend, or limits the Ingress to a
// part of the requests in a way that the gateway does not have.
func (r *ingressRule) foreignAnnotations(o *networkingv1.Ingress, at model.Origin) (*gateway.Canary, bool) {
	share, err := canaryOf(o)
	if err != nil {
		r.report(at.At("metadata.annotations"), model.CodeInvalidField, "%s; the Ingress is not served", err)
	}
	served := err == nil
	for _, name := range slices.Sorted(maps.Keys(o.Annotations)) {
		short, is := strings.CutPrefix(name, foreignPrefix)
		ofCanary := (share != nil || err != nil) && strings.HasPrefix(name, canary)
		if !is || ofCanary || slices.Contains(clientAnnotations, name) {
			continue
		}
		if slices.ContainsFunc(protecting, func(p string) bool { return strings.HasPrefix(short, p) }) {
			served = false
			r.report(at.At("metadata.annotations"), model.CodeInvalidField, "annotation %s restricts access, which this gateway "+
				"does not do; the Ingress is not served", name)
			continue
		}
		r.report(at.At("metadata.annotations"), model.CodeFieldNotImplemented, "annotation %s has no effect", name)
	}
	return share, served
}
