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
	if o.Spec.DefaultBackend != nil {
		r.report(at.At("spec.defaultBackend"), model.CodeFieldNotImplemented,
			"is not served; set the annotation %s, or add a rule with the path /", api.DefaultBackend)
	}
	secrets := r.certificates(o, at, settings.Canary == nil)
	for i, rule := range o.Spec.Rules {
		host, path := strings.ToLower(rule.Host), fmt.Sprintf("spec.rules[%d]", i)
		switch {
		case host == "" || strings.HasPrefix(host, "*"):
			r.report(at.At(path+".host"), model.CodeFieldNotImplemented,
				"an Ingress needs a host name without wildcard; this rule is not served")
			continue
		case rule.HTTP == nil:
			r.report(at.At(path+".http"), model.CodeFieldNotImplemented, "a rule needs paths; this one is not served")
			continue
		}
		for j, p := range rule.HTTP.Paths {
			entry := settings
			secret, secured := secrets[host]
			if secured && secret == "" {
				break // what has to be protected is not served without protection
			}
			entry.Secret, entry.Origin = secret, at.At(fmt.Sprintf("%s.http.paths[%d]", path, j))
			r.path(host, entry, o.Namespace, p)
		}
	}
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
	service := p.Backend.Service
	if service == nil {
		r.report(entry.Origin.At(entry.Origin.Path+".backend.resource"), model.CodeFieldNotImplemented,
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
