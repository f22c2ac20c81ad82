package ingress

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
)

// allKey is the only key of a relation whose readers need all entries.
type allKey struct{}

// servedClass is an IngressClass of this gateway.
type servedClass struct {
	name string
	// standard is true for the class of Ingresses without a class.
	standard bool
}

// addresses are what the status of an Ingress says: the addresses of the gateway.
type addresses []string

// defaultClassAnnotation marks the IngressClass of Ingresses without a class.
const defaultClassAnnotation = networkingv1.AnnotationIsDefaultIngressClass

// Rules adds the rules.
func (d Dialect) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	if !d.Enabled {
		return
	}
	to := gateway.Of(g, objects, out, d.Gateway)
	classes := incremental.NewRelation[allKey](g, "classes", func(a, b servedClass) int {
		return strings.Compare(a.name, b.name)
	}, func(a, b servedClass) bool { return a == b })
	rule := incremental.NewRule(g, "IngressClass")
	incremental.Each(rule, store.Of[*networkingv1.IngressClass](objects), incremental.Emits(rule, classes), emitClass)
	rule = incremental.NewRule(g, "Ingress")
	incremental.Each(rule, store.Of[*networkingv1.Ingress](objects), &ingressRule{
		classes: incremental.Reads(rule, classes), addresses: to.ReadsAddresses(rule), hosts: to.EmitsHosts(rule),
		members: incremental.Emits(rule, out.Members), states: incremental.Emits(rule, store.NewStates[addresses](g, out)),
		findings: out.EmitsFindings(rule),
	}, (*ingressRule).evaluate)
}
