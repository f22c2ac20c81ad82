package accesslog

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// textFormat returns the function of a format of lines.
func textFormat(text string) (func([]byte, *Entry) []byte, error) {
	parts, err := config.ParseLogFormat(text)
	return func(to []byte, e *Entry) []byte {
		for _, p := range parts {
			to = append(to, e.partText(p)...)
		}
		return to
	}, err
}

// fieldsFormat returns the function of JSON objects with some members. A member that is one operator has the type of
// its value: null without one.
func fieldsFormat(fields []config.LogField) (func([]byte, *Entry) []byte, error) {
	members := map[string][]config.LogPart{}
	for _, f := range fields {
		parts, err := config.ParseLogFormat(f.Value)
		if err != nil {
			return nil, err
		}
		members[f.Key] = parts
	}
	return func(to []byte, e *Entry) []byte {
		object := map[string]any{}
		for key, parts := range members {
			if len(parts) == 1 && parts[0].Operator != "" {
				object[key] = e.value(parts[0])
				continue
			}
			var text strings.Builder
			for _, p := range parts {
				text.WriteString(e.partText(p))
			}
			object[key] = text.String()
		}
		return appendValue(to, object)
	}, nil
}

// partText returns a part of a format; "-" for an operator without a value.
func (e *Entry) partText(p config.LogPart) string {
	if p.Operator == "" {
		return p.Text
	}
	if value := e.value(p); value != nil {
		return fmt.Sprint(value)
	}
	return "-"
}

// value returns the value of an operator: a string, a number, or nil.
func (e *Entry) value(p config.LogPart) any {
	switch p.Operator {
	case "RESPONSE_CODE":
		return e.Status
	case "BYTES_RECEIVED":
		return e.Received
	case "BYTES_SENT":
		return e.Sent
	case "DURATION":
		return int64(e.Seconds * 1000)
	case "UPSTREAM_REQUEST_ATTEMPT_COUNT":
		if e.Cluster == "" {
			return 0
		}
		return e.Retries + 1
	}
	text, has := e.operator(p)
	if !has || text == "" {
		return nil
	}
	if p.Length >= 0 && len(text) > p.Length {
		text = text[:p.Length]
	}
	return text
}

// operator returns the result of an operator whose values are texts.
func (e *Entry) operator(p config.LogPart) (string, bool) {
	switch p.Operator {
	case "REQ":
		return e.field(p.Argument)
	case "RESP":
		return first(e.Response, p.Argument)
	case "PATH":
		path, has := e.field("X-ENVOY-ORIGINAL-PATH?:PATH")
		if strings.HasSuffix(p.Argument, ":PATH") {
			path, has = e.field(":PATH")
		}
		if strings.HasPrefix(p.Argument, "NQ") {
			path, _, _ = strings.Cut(path, "?")
		}
		return path, has
	case "QUERY_PARAM":
		_, query, _ := strings.Cut(e.Path, "?")
		values, _ := url.ParseQuery(query) // with those that can be parsed
		return values.Get(p.Argument), values.Has(p.Argument)
	case "START_TIME":
		return formatTime(e.Time.UTC(), p.Argument), true
	case "ENVIRONMENT":
		return os.LookupEnv(p.Argument)
	case "HOSTNAME":
		name, err := os.Hostname()
		return name, err == nil
	case "PROTOCOL":
		return e.Version, true
	case "RESPONSE_FLAGS":
		return e.Flags, true
	case "TRACE_ID":
		return e.Trace, true
	case "UPSTREAM_CLUSTER":
		return e.Cluster, true
	case "UPSTREAM_HOST":
		return e.Address, true
	case "REQUESTED_SERVER_NAME":
		return e.meta("TLS", "sni"), true
	case "DOWNSTREAM_TLS_VERSION":
		return strings.Replace(e.meta("TLS", "version"), "TLS 1.", "TLSv1.", 1), true
	case "DOWNSTREAM_PEER_SUBJECT":
		return e.meta("TLS", "peer", "subject"), true
	case "DOWNSTREAM_PEER_URI_SAN":
		return e.meta("TLS", "peer", "uris"), true
	}
	return e.address(p.Operator), true
}

// field returns a field of a request, or, after a question mark, another one.
func (e *Entry) field(names string) (string, bool) {
	return first(func(name string) (string, bool) {
		if e.Request == nil {
			return "", false
		}
		if name == "x-envoy-original-path" { // Envoy sets it if a route rewrites the path
			path, has := e.Request(":path")
			return e.Path, has && path != e.Path
		}
		return e.Request(name)
	}, names)
}

// first returns the field of the first name that there is.
func first(field func(string) (string, bool), names string) (string, bool) {
	if field == nil {
		return "", false
	}
	for name := range strings.SplitSeq(names, "?") {
		if value, has := field(strings.ToLower(name)); has {
			return value, true
		}
	}
	return "", false
}

// meta returns a text of the metadata, or several, separated by commas.
func (e *Entry) meta(path ...string) string {
	v := metadata.At(e.Metadata, path)
	if list, is := v.Any.([]any); is {
		var out []string
		for _, one := range list {
			out = append(out, fmt.Sprint(one))
		}
		return strings.Join(out, ",")
	}
	if v.Kind == metadata.Number {
		return strconv.Itoa(int(v.Num))
	}
	return v.Text
}

// address returns an address of the connection.
func (e *Entry) address(operator string) string {
	side := "src"
	if strings.Contains(operator, "LOCAL") {
		side = "dst"
	}
	ip, port := e.meta("IP", side+"_addr"), e.meta("TCP", side+"_port")
	if port == "" {
		port = e.meta("UDP", side+"_port")
	}
	switch {
	case strings.HasSuffix(operator, "_WITHOUT_PORT"):
		return ip
	case strings.HasSuffix(operator, "_PORT"):
		return port
	case ip == "":
		return ""
	}
	return net.JoinHostPort(ip, port)
}

// formatTime returns a time in a format with specifiers; in that of ISO 8601 without a format.
func formatTime(t time.Time, format string) string {
	if format == "" {
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		i++
		digits := 0
		if c := format[i]; c >= '1' && c <= '9' {
			digits = int(c - '0')
			i++
		}
		fraction := fmt.Sprintf("%09d", t.Nanosecond())
		switch c := format[i]; c {
		case '%':
			out.WriteByte('%')
		case 's':
			fmt.Fprintf(&out, "%d%s", t.Unix(), fraction[:digits])
		case 'f':
			if digits == 0 {
				digits = len(fraction)
			}
			out.WriteString(fraction[:digits])
		default:
			out.WriteString(t.Format(config.LogTimes[c]))
		}
	}
	return out.String()
}
