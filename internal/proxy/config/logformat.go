package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// LogPart is a part of a format: an operator, or text.
type LogPart struct {
	// Text is what is written as it is.
	Text string
	// Operator is the name, and Argument what is between the parentheses.
	Operator, Argument string
	// Length is the maximum number of bytes; -1 without one.
	Length int

	format string // of the part
}

// logOperators are the operators of formats. The value tells whether the operator has an argument.
var logOperators = map[string]argument{
	"BYTES_RECEIVED": no, "BYTES_SENT": no, "DOWNSTREAM_DIRECT_LOCAL_ADDRESS": no,
	"DOWNSTREAM_DIRECT_REMOTE_ADDRESS": no, "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT": no,
	"DOWNSTREAM_DIRECT_REMOTE_PORT": no, "DOWNSTREAM_LOCAL_ADDRESS": no, "DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT": no,
	"DOWNSTREAM_LOCAL_PORT": no, "DOWNSTREAM_PEER_SUBJECT": no, "DOWNSTREAM_PEER_URI_SAN": no,
	"DOWNSTREAM_TLS_VERSION": no, "DURATION": no, "ENVIRONMENT": required, "HOSTNAME": no, "PATH": optional, "PROTOCOL": no,
	"QUERY_PARAM": required, "REQ": required, "REQUESTED_SERVER_NAME": no, "RESP": required, "RESPONSE_CODE": no,
	"RESPONSE_FLAGS": no, "START_TIME": optional, "TRACE_ID": no, "UPSTREAM_CLUSTER": no, "UPSTREAM_HOST": no,
	"UPSTREAM_REQUEST_ATTEMPT_COUNT": no,
}

// argument tells whether an operator has an argument.
type argument int

const (
	no argument = iota
	optional
	required
)

// cut lists the operators whose results can have a maximum length.
var cut = []string{"ENVIRONMENT", "PATH", "QUERY_PARAM", "REQ", "RESP"}

// LogTimes are the specifiers of times, with the layouts of the time package. Empty ones are no layouts.
var LogTimes = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'b': "Jan", 'B': "January", 'a': "Mon",
	'A': "Monday", 'e': "_2", 'j': "002", 'I': "03", 'p': "PM", 'T': "15:04:05", 'R': "15:04", 'F': "2006-01-02",
	'D': "01/02/06", 'z': "-0700", 'Z': "MST", 's': "", 'f': "", '%': "",
}

var logOperator = regexp.MustCompile(`^%([A-Z0-9_]+)(\([^)\n\r\x00]*\))?(:[0-9]{1,9})?%`)

// ParseLogFormat returns the parts of a format: text with operators of the form %NAME%, %NAME(argument)% or
// %NAME(argument):length%, which have the meaning of those of Envoy. "%%" is a percent sign.
func ParseLogFormat(text string) ([]LogPart, error) {
	out, unknown, err := parseLogFormat(text)
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("%s is not supported", unknown[0])
	}
	return out, err
}

// SupportedLogFormat returns a format in which "-" replaces the operators that are not supported, and these operators.
// Of a text that is no format, nothing is supported.
func SupportedLogFormat(text string) (supported string, unsupported []string) {
	parts, unsupported, err := parseLogFormat(text)
	if err != nil {
		return "-\n", []string{err.Error()}
	}
	var out strings.Builder
	for _, p := range parts {
		if p.Operator != "" && !p.supported() {
			p.format = "-"
		}
		out.WriteString(p.format)
	}
	return out.String(), unsupported
}

func parseLogFormat(text string) (out []LogPart, unsupported []string, err error) {
	for text != "" {
		at := strings.IndexByte(text, '%')
		switch {
		case at != 0:
			if at < 0 {
				at = len(text)
			}
			out, text = append(out, LogPart{Text: text[:at], format: text[:at]}), text[at:]
			continue
		case strings.HasPrefix(text, "%%"):
			out, text = append(out, LogPart{Text: "%", format: "%%"}), text[2:]
			continue
		}
		m := logOperator.FindStringSubmatch(text)
		if m == nil {
			return nil, nil, fmt.Errorf("%q does not begin with an operator", text)
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(m[2], "("), ")")
		part := LogPart{Operator: m[1], Argument: inner, Length: -1, format: m[0]}
		if m[3] != "" {
			part.Length, _ = strconv.Atoi(m[3][1:]) // it has digits only
		}
		if !part.supported() {
			unsupported = append(unsupported, m[0])
		}
		out, text = append(out, part), text[len(m[0]):]
	}
	return out, unsupported, nil
}

func (p LogPart) supported() bool {
	takes, known := logOperators[p.Operator]
	switch {
	case !known, takes == no && p.Argument != "", takes == required && p.Argument == "":
		return false
	case p.Length >= 0 && !slices.Contains(cut, p.Operator):
		return false
	case p.Operator == "PATH":
		return slices.Contains([]string{"", "WQ", "NQ", ":PATH", "WQ:PATH", "NQ:PATH"}, p.Argument)
	case p.Operator == "START_TIME":
		return timeFormat(p.Argument)
	}
	return true
}

// timeFormat reports whether all specifiers of a format are supported. %f has the number of digits of fractions of a
// second before it, and so has %s.
func timeFormat(text string) bool {
	for {
		at := strings.IndexByte(text, '%')
		if at < 0 {
			return true
		}
		text = text[at+1:]
		digit := text != "" && text[0] >= '1' && text[0] <= '9'
		if digit {
			text = text[1:]
		}
		if text == "" {
			return false
		}
		if _, known := LogTimes[text[0]]; !known || digit && text[0] != 'f' && text[0] != 's' {
			return false
		}
		text = text[1:]
	}
}

// checkLog checks the format of the access log.
func (a *Admin) checkLog() error {
	formats := 0
	for _, set := range []bool{a.AccessLogFormat != "", a.AccessLogText != "", len(a.AccessLogFields) > 0} {
		if set {
			formats++
		}
	}
	if formats > 1 {
		return errors.New("access_log_text: of access_log_format, access_log_text and access_log_fields, only one has effect")
	}
	if _, err := ParseLogFormat(a.AccessLogText); err != nil {
		return named("access_log_text", err)
	}
	return nil
}

func (f *LogField) check(map[string]bool) error {
	_, err := ParseLogFormat(f.Value)
	return named("value", err)
}

// SameLog reports whether two settings have the same access log.
func (a *Admin) SameLog(o *Admin) bool {
	return a.AccessLogPath == o.AccessLogPath && a.AccessLogFormat == o.AccessLogFormat &&
		a.AccessLogText == o.AccessLogText && slices.Equal(a.AccessLogFields, o.AccessLogFields)
}
