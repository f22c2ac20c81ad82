package admission

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxDepth is the maximum nesting depth of a review. Those of API servers have a few dozen levels.
const MaxDepth = 256

// validateBody returns the reason and the text of the rejection of a body, or "".
func validateBody(body []byte) (reason, text string) {
	var review metav1.TypeMeta
	if !utf8.Valid(body) {
		return "not_utf8", "the review is not valid UTF-8"
	}
	// The webhook's decoder would also accept YAML with aliases.
	if err := json.Unmarshal(body, &review); err != nil {
		return "not_json", "the review cannot be decoded: " + err.Error()
	}
	switch review.APIVersion {
	case "", admissionv1.SchemeGroupVersion.String(), admissionv1beta1.SchemeGroupVersion.String():
		return "", ""
	}
	return "unknown_version", fmt.Sprintf("unknown AdmissionReview version %q; supported version: %s",
		review.APIVersion, admissionv1.SchemeGroupVersion)
}

// shape is what decides about the cost of decoding a text.
type shape struct{ depth, values int }

// shapeOf counts the nesting depth, and brackets and commas as values, outside of strings. The result for invalid JSON
// does not matter, because decoding rejects it.
func shapeOf(text []byte) (s shape) {
	depth, quoted, escaped := 0, false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == ',':
			s.values++
		case c == '{' || c == '[':
			s.values++
			depth++
			s.depth = max(s.depth, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return s
}

// decodedSize estimates the memory that the evaluation of a review needs, in bytes: the text is decoded and encoded
// several times to make a patch, and structures are larger than their text. TestMemoryOfReviews measures it.
func decodedSize(length, values int) int64 { return 8*int64(length) + 2<<10*int64(values) }
