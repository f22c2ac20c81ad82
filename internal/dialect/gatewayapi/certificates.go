package gatewayapi

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"anymesh.dev/anymesh/model"
)

// withoutCertificates returns the state of a Gateway or ListenerSet whose findings say which Secrets have no valid
// certificate: the pods of the gateway report it. Listeners with the same Secret have the same conditions. The
// certificates of listeners without HTTPRoutes are not read.
func (s state) withoutCertificates(findings []model.Finding) state {
	problems := map[string]string{} // by Secret
	for _, f := range findings {
		for i, l := range s.listeners {
			if f.Code == model.CodeNoCertificate && l.secret != "" && f.Path == fmt.Sprintf(certificateField, i) {
				problems[l.secret] = f.Path + ": " + f.Text
			}
		}
	}
	if len(problems) == 0 {
		return s
	}
	s.listeners, s.conditions = slices.Clone(s.listeners), slices.Clone(s.conditions)
	for i, l := range s.listeners {
		if problem := problems[l.secret]; problem != "" {
			s.listeners[i].conditions = replaced(l.conditions,
				no(gatewayv1.ListenerConditionResolvedRefs, gatewayv1.ListenerReasonInvalidCertificateRef, problem),
				no(gatewayv1.ListenerConditionProgrammed, gatewayv1.ListenerReasonInvalid, problem))
		}
	}
	for i, c := range s.conditions { // the type and the reasons of a ListenerSet are the same
		if c == yes(gatewayv1.GatewayConditionAccepted, gatewayv1.GatewayReasonAccepted) {
			s.conditions[i].Reason = string(gatewayv1.GatewayReasonListenersNotValid)
			s.conditions[i].Message = "some listeners are not served"
		}
	}
	return s
}

// replaced returns conditions with others in place of those that are True, of the same type.
func replaced(all []condition, by ...condition) []condition {
	out := slices.Clone(all)
	for _, c := range by {
		for i := range out {
			if out[i].Type == c.Type && out[i].True {
				out[i] = c
			}
		}
	}
	return out
}
