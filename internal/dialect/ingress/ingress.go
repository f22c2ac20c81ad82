package ingress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// classAnnotation names the class of an Ingress in place of spec.ingressClassName.
const classAnnotation = "kubernetes.io/ingress.class"

// emitClass adds the IngressClasses of this gateway.
func emitClass(classes *incremental.Emitter[allKey, servedClass], id types.NamespacedName,
	all []*networkingv1.IngressClass) {
	if class := all[0]; class.Spec.Controller == api.Controller && class.DeletionTimestamp == nil {
		classes.Emit(allKey{}, servedClass{id.Name, class.Annotations[defaultClassAnnotation] == "true"})
	}
}

// ingressRule translates Ingresses.
type ingressRule struct {
	classes   *incremental.Reader[allKey, servedClass]
	addresses gateway.Addresses
	hosts     gateway.Hosts
	members   *incremental.Emitter[model.ObjectRef, string]
	states    *incremental.Emitter[model.ObjectRef, addresses]
	findings  store.Output[model.ObjectRef, model.Finding]
}

func (r *ingressRule) report(at model.Origin, code model.Code, format string, args ...any) {
	r.findings.Emit(model.NewFinding(at, code, fmt.Sprintf(format, args...)))
}

func (r *ingressRule) evaluate(_ types.NamespacedName, all []*networkingv1.Ingress) {
	o := all[0]
	if o.DeletionTimestamp != nil || !r.served(o) {
		return
	}
	at := originOf(networkingv1.GroupName, "Ingress", o, store.CreatedAt(o))
	r.members.Emit(at.Object(), gateway.Mesh)
	r.states.Emit(at.Object(), r.addresses.Read())
	settings, ok := r.annotations(o, at)
	if !ok {
		return
	}
	secrets := r.certificates(o, at, settings.Canary == nil)
	defaults := map[string]gateway.Path{} // the hosts without a path for all requests
	if len(o.Spec.Rules) == 0 {
		defaults[gateway.AnyHost] = settings
	}
	for i, rule := range o.Spec.Rules {
		entry := settings
		entry.Origin = at.At(fmt.Sprintf("spec.rules[%d]", i))
		var host string
		if host, entry.Secret, ok = r.host(o, entry.Origin, rule, secrets); !ok {
			continue
		}
		if !slices.ContainsFunc(o.Spec.Rules, func(r networkingv1.IngressRule) bool {
			return strings.EqualFold(r.Host, rule.Host) && hasRoot(r)
		}) {
			defaults[host] = entry
		}
		if rule.HTTP == nil {
			continue
		}
		for j, p := range rule.HTTP.Paths {
			one := entry
			one.Origin = at.At(fmt.Sprintf("%s.http.paths[%d]", entry.Origin.Path, j))
			r.path(host, one, o.Namespace, p)
		}
	}
	for host, entry := range defaults {
		if o.Spec.DefaultBackend == nil {
			break
		}
		entry.Default, entry.Origin = true, at.At("spec.defaultBackend")
		entry.Match = model.StringMatch{Kind: model.PathPrefix, Value: "/"}
		r.backend(host, entry, o.Namespace, *o.Spec.DefaultBackend, "")
	}
}

// host returns the host of a rule and the Secret with its certificate, or reports why the rule is not served. The host
// of a rule without one is gateway.AnyHost.
func (r *ingressRule) host(o *networkingv1.Ingress, at model.Origin, rule networkingv1.IngressRule,
	secrets map[string]string) (host, secret string, served bool) {
	host = cmp.Or(strings.ToLower(rule.Host), gateway.AnyHost)
	secret, secured := secrets[strings.ToLower(rule.Host)]
	switch {
	case host != gateway.AnyHost && strings.HasPrefix(host, "*"):
		r.report(at.At(at.Path+".host"), model.CodeFieldNotImplemented,
			"a host name with a wildcard is not served; write a rule for each host, or one without host for all others")
		return "", "", false
	case rule.HTTP == nil && o.Spec.DefaultBackend == nil:
		r.report(at.At(at.Path+".http"), model.CodeFieldNotImplemented,
			"a rule needs paths, or the Ingress spec.defaultBackend; this one is not served")
		return "", "", false
	case secured && secret == "":
		return "", "", false // what has to be protected is not served without protection
	case secured && host == gateway.AnyHost:
		r.report(at.At(at.Path+".host"), model.CodeFieldNotImplemented,
			"a rule with TLS needs a host name; this one is not served")
		return "", "", false
	}
	return host, secret, true
}

// hasRoot reports whether a rule has a path for all requests.
func hasRoot(rule networkingv1.IngressRule) bool {
	return rule.HTTP != nil && slices.ContainsFunc(rule.HTTP.Paths, func(p networkingv1.HTTPIngressPath) bool {
		return strings.TrimRight(p.Path, "/") == "" && (p.PathType == nil || *p.PathType != networkingv1.PathTypeExact)
	})
}

// served reports whether the Ingress has a class of this gateway.
func (r *ingressRule) served(o *networkingv1.Ingress) bool {
	name, named := o.Annotations[classAnnotation]
	if o.Spec.IngressClassName != nil {
		name, named = *o.Spec.IngressClassName, true
	}
	return slices.ContainsFunc(r.classes.Read(allKey{}), func(c servedClass) bool {
		return named && c.name == name || !named && c.standard
	})
}

// path adds a path of a host.
func (r *ingressRule) path(host string, entry gateway.Path, namespace string, p networkingv1.HTTPIngressPath) {
	entry.Match = model.StringMatch{Kind: model.PathPrefix, Value: cmp.Or(strings.TrimRight(p.Path, "/"), "/")}
	if p.PathType != nil && *p.PathType == networkingv1.PathTypeExact {
		entry.Match = model.StringMatch{Kind: model.Exact, Value: p.Path}
	}
	r.backend(host, entry, namespace, p.Backend, ".backend")
}

// backend adds a path of a host with its backend, which is a field of its origin.
func (r *ingressRule) backend(host string, entry gateway.Path, namespace string, b networkingv1.IngressBackend,
	field string) {
	service := b.Service
	if service == nil {
		r.report(entry.Origin.At(entry.Origin.Path+field+".resource"), model.CodeFieldNotImplemented,
			"only Services are served; requests get status 404")
		return
	}
	entry.Backend.Service = types.NamespacedName{Namespace: namespace, Name: service.Name}
	entry.Backend.Number, entry.Backend.Name = service.Port.Number, service.Port.Name
	r.hosts.Serve(host, entry)
}

// certificates returns the Secrets of the hosts with TLS. The Secret of a host is empty if none is named. It adds their
// certificates, unless the hosts have those of another Ingress.
func (r *ingressRule) certificates(o *networkingv1.Ingress, at model.Origin, own bool) map[string]string {
	out := map[string]string{}
	for i, tls := range o.Spec.TLS {
		path := fmt.Sprintf("spec.tls[%d]", i)
		if tls.SecretName == "" {
			r.report(at.At(path+".secretName"), model.CodeNoCertificate,
				"no Secret is named; name one with tls.crt and tls.key. The hosts are not served")
		}
		hosts := tls.Hosts
		if len(hosts) == 0 {
			for _, rule := range o.Spec.Rules {
				hosts = append(hosts, rule.Host)
			}
		}
		for _, host := range hosts {
			host = strings.ToLower(host)
			if out[host] = tls.SecretName; !own || tls.SecretName == "" || host == "" {
				continue
			}
			r.hosts.Secure(host, o.Namespace+"/"+tls.SecretName, at.At(path))
		}
	}
	return out
}
