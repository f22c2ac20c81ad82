package ingress

import (
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// ServedElsewhere returns the first Ingress with a host whose class names another controller.
func (Dialect) ServedElsewhere(objects []client.Object, host string) (at model.Origin, text string, is bool) {
	for _, o := range dialect.ObjectsOf[*networkingv1.Ingress](objects) {
		class := o.Annotations[classAnnotation]
		if o.Spec.IngressClassName != nil {
			class = *o.Spec.IngressClassName
		}
		if class == "" || class == api.Class {
			continue
		}
		by := "the controller of IngressClass " + class
		for _, c := range dialect.ObjectsOf[*networkingv1.IngressClass](objects) {
			if c.Name == class {
				by = fmt.Sprintf("the controller %s of IngressClass %s", c.Spec.Controller, class)
			}
			if c.Name == class && c.Spec.Controller == api.Controller {
				by = ""
			}
		}
		for i, rule := range o.Spec.Rules {
			if by != "" && strings.EqualFold(rule.Host, host) {
				at := model.NewOrigin(dialect.RefOf(o)).At(fmt.Sprintf("spec.rules[%d].host", i))
				return at, by + " serves the host", true
			}
		}
	}
	return model.Origin{}, "", false
}
