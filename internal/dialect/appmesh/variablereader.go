package appmesh

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Limits of the interval of metrics, in Envoy.
const (
	minFlushInterval = time.Millisecond
	maxFlushInterval = 5 * time.Minute
)

var logLevels = []string{"trace", "debug", "info", "warning", "error", "critical", "off"}

// variableReader collects errors, so that all of them are reported at once.
type variableReader struct {
	env  []corev1.EnvVar
	errs []error
}

func (r *variableReader) fail(name, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("variable %s: %s", name, fmt.Sprintf(format, args...)))
}

// text returns a value that is known at admission; "" for none.
func (r *variableReader) text(name string) string {
	i := findVariable(r.env, name)
	if i < 0 {
		return ""
	}
	v := r.env[i]
	if v.ValueFrom != nil || strings.Contains(v.Value, "$(") {
		r.fail(name, "it refers to another object or variable; set its value")
		return ""
	}
	return strings.TrimSpace(v.Value)
}

// address returns a value, or a reference to the variable if its value is known only in the pod. The default is
// localhost.
func (r *variableReader) address(name string) string {
	i := findVariable(r.env, name)
	if i < 0 {
		return localhost
	}
	if v := r.env[i]; v.ValueFrom != nil || strings.Contains(v.Value, "$(") {
		if !r.fixed(v) {
			r.fail(name, "it refers to what can change after the pod is admitted, and is a part of the proxy's configuration; "+
				"set its value, or refer to a field such as status.hostIP")
		}
		return "$(" + name + ")"
	}
	value := strings.TrimSpace(r.env[i].Value)
	switch {
	case value == "":
		return localhost
	case strings.ContainsAny(value, "/ \t\"\\") || len(value) > 253:
		r.fail(name, "%q is not a host name or an IP address", value)
	}
	return value
}

// fixedFields are fields of a pod that do not change, except by kubelet. Their values need no escapes in JSON.
var fixedFields = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
	"status.podIP",
}

// fixed reports whether a variable refers to a field of fixedFields, or to a variable that does. Labels, annotations,
// ConfigMaps and Secrets can change after admission, and their values become a part of the bootstrap of the proxy.
func (r *variableReader) fixed(v corev1.EnvVar) bool {
	if v.ValueFrom != nil {
		return v.ValueFrom.FieldRef != nil && slices.Contains(fixedFields, v.ValueFrom.FieldRef.FieldPath)
	}
	name, is := strings.CutPrefix(v.Value, "$(")
	name, whole := strings.CutSuffix(name, ")")
	i := findVariable(r.env, name)
	return is && whole && i >= 0 && r.env[i].Name != v.Name && r.env[i].ValueFrom != nil && r.fixed(r.env[i])
}

func (r *variableReader) flag(name string, otherwise bool) bool {
	text := r.text(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		r.fail(name, "%q is neither 0 nor 1", text)
	}
	return value
}

func (r *variableReader) number(name string, low, high int) int {
	text := r.text(name)
	if text == "" {
		return 0
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < low || value > high {
		r.fail(name, "%q is not a number from %d to %d", text, low, high)
		return 0
	}
	return value
}

func (r *variableReader) port(name string) uint16 { return uint16(r.number(name, 1, 65535)) }

func (r *variableReader) rate(name string) *float64 {
	text := r.text(name)
	if text == "" {
		return nil
	}
	rate, err := parseRate(text)
	if err != nil {
		r.fail(name, "%v", err)
		return nil
	}
	return &rate
}

// parseRate parses a share from 0 to 1.
func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || !(rate >= 0 && rate <= 1) {
		return 0, fmt.Errorf("%q is not a number from 0 to 1", text)
	}
	return rate, nil
}

func (r *variableReader) interval(name string) time.Duration {
	text := r.text(name)
	if text == "" {
		return 0
	}
	value, err := time.ParseDuration(text)
	if err != nil || value < minFlushInterval || value >= maxFlushInterval {
		r.fail(name, "%q is not a duration from %s to less than %s, for example 5s", text, minFlushInterval, maxFlushInterval)
		return 0
	}
	return value
}

// file returns the path of a file in the container of the proxy.
func (r *variableReader) file(name string) string {
	text := r.text(name)
	if text != "" && (!path.IsAbs(text) || path.Clean(text) != text) {
		r.fail(name, "%q is not the absolute path of a file", text)
		return ""
	}
	return text
}

func (r *variableReader) logLevel(name string) string {
	text := strings.ToLower(r.text(name))
	if text == "warn" {
		return "warning"
	}
	if text != "" && !slices.Contains(logLevels, text) {
		r.fail(name, "%q is not one of %s", text, strings.Join(logLevels, ", "))
	}
	return text
}
