package l7mp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// parser reads an object, and collects findings about it.
type parser struct {
	at        model.Origin
	namespace string
	// service returns a Service.
	service  func(types.NamespacedName) (*corev1.Service, bool)
	findings []model.Finding
}

func newParser(kind string, o metav1.Object,
	service func(types.NamespacedName) (*corev1.Service, bool)) *parser {
	return &parser{at: originOf(api.GroupVersion.Group, kind, o), namespace: o.GetNamespace(), service: service}
}

// report adds a finding about a field.
func (p *parser) report(path string, code model.Code, format string, args ...any) {
	p.findings = append(p.findings, model.NewFinding(p.at.At(path), code, fmt.Sprintf(format, args...)))
}

// notImplemented reports a field without effect.
func (p *parser) notImplemented(path, what string) {
	p.report(path, model.CodeFieldNotImplemented, "%s is not implemented yet, and has no effect", what)
}

// object returns the fields of a JSON object. It reports another value.
func (p *parser) object(text []byte, path string) (map[string]json.RawMessage, bool) {
	var out map[string]json.RawMessage
	if err := json.Unmarshal(text, &out); err != nil || out == nil {
		p.report(path, model.CodeInvalidField, "must be an object")
		return nil, false
	}
	return out, true
}

// decode reads a JSON value into a type, and reports unknown fields and values of another type.
func (p *parser) decode(text []byte, into any, path string) bool {
	unknown, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		// Only the error of the standard library says which field it is about.
		var wrong *json.UnmarshalTypeError
		if errors.As(json.Unmarshal(text, into), &wrong) {
			field := strings.TrimSuffix(path+"."+wrong.Field, ".")
			p.report(field, model.CodeInvalidField, "must not be a JSON %s", wrong.Value)
		} else {
			p.report(path, model.CodeInvalidField, "is not valid: %v", err)
		}
		return false
	}
	for _, u := range unknown {
		p.report(path, model.CodeInvalidField, "%v, which has no effect", u)
	}
	return true
}

// text returns a JSON string.
func text(raw []byte) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// originOf returns the origin of an object.
func originOf(group, kind string, o metav1.Object) model.Origin {
	return model.NewOrigin(model.ObjectRef{
		Group: group, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(),
	}).CreatedAt(store.CreatedAt(o))
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
