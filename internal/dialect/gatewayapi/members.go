package gatewayapi

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// members is the part of a rule that emits objects that the gateway serves, and what is wrong with them.
type members struct {
	meshes   *incremental.Emitter[model.ObjectRef, string]
	states   *incremental.Emitter[model.ObjectRef, state]
	findings store.Output[model.ObjectRef, model.Finding]
}

func (r relations) emitsMembers(rule *incremental.Rule, out *store.Model) members {
	return members{incremental.Emits(rule, out.Members), incremental.Emits(rule, r.states), out.EmitsFindings(rule)}
}

// report adds the finding of a condition that is not True. A message that begins with a field is about this field.
func (m members) report(at model.Origin, c condition, result string) {
	if c.True || c == (condition{}) {
		return
	}
	code, text := model.CodeInvalidField, c.Message
	if field, rest, is := strings.Cut(text, " "); is && strings.HasPrefix(field, "spec.") &&
		!strings.HasPrefix(rest, "of ") { // a field of another object
		at, text = at.At(strings.TrimSuffix(field, ":")), rest
	}
	if strings.Contains(text, "supported") {
		code = model.CodeFieldNotImplemented
	}
	m.findings.Emit(model.NewFinding(at, code, text+"; "+result))
}

func (m members) emit(object model.ObjectRef, s state) {
	m.meshes.Emit(object, gateway.Mesh)
	m.states.Emit(object, s)
}

// reportListener adds the findings of a listener that is not served.
func (m members) reportListener(at model.Origin, l listenerState) {
	for _, c := range l.conditions {
		if c.Type != string(gatewayv1.ListenerConditionProgrammed) {
			m.report(at, c, "the listener is not served")
		}
	}
}
