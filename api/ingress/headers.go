package ingress

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Header is a header with its value.
type Header struct{ Name, Value string }

var errNotObject = errors.New(`the value is not a JSON object of texts; write for example {"X-Tenant":"blue"}`)

// ownedHeaders are headers that the proxy itself sets for each connection or request.
var ownedHeaders = []string{
	"connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
	"transfer-encoding", "upgrade",
}

// ParseRequestHeaders parses the value of RequestHeaders. The headers are sorted by name, ignoring case.
func ParseRequestHeaders(value string) ([]Header, error) {
	headers, err := parseObject(value)
	if err != nil {
		return nil, wrap(RequestHeaders, err)
	}
	sortHeaders(headers)
	for i, h := range headers {
		if err := CheckHeader(h.Name, h.Value); err != nil {
			return nil, wrap(RequestHeaders, err)
		}
		if i > 0 && strings.EqualFold(headers[i-1].Name, h.Name) {
			return nil, wrap(RequestHeaders, fmt.Errorf("the header %q occurs twice; names of headers ignore case", h.Name))
		}
	}
	return headers, nil
}

// parseObject decodes a JSON object of texts. Unlike a map, the result has all values of names that occur twice.
func parseObject(value string) ([]Header, error) {
	decoder := json.NewDecoder(strings.NewReader(value))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errNotObject
	}
	var out []Header
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, errNotObject
		}
		var found any
		if err := decoder.Decode(&found); err != nil {
			return nil, errNotObject
		}
		text, ok := found.(string)
		if !ok {
			return nil, fmt.Errorf("the value of %q is not a text; write it in quotes", name)
		}
		out = append(out, Header{Name: name.(string), Value: text})
	}
	if token, err := decoder.Token(); err != nil || token != json.Delim('}') {
		return nil, errNotObject
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotObject
	}
	return out, nil
}

// FormatRequestHeaders returns the value of RequestHeaders, in the order of ParseRequestHeaders.
func FormatRequestHeaders(headers []Header) string {
	headers = slices.Clone(headers)
	sortHeaders(headers)
	var out bytes.Buffer
	out.WriteByte('{')
	for i, h := range headers {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(quote(h.Name))
		out.WriteByte(':')
		out.Write(quote(h.Value))
	}
	out.WriteByte('}')
	return out.String()
}

// CheckHeader returns an error unless a proxy can set the header to the value.
func CheckHeader(name, value string) error {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%q is not the name of a header; use letters, digits and hyphens", name)
	case slices.Contains(ownedHeaders, strings.ToLower(name)):
		return fmt.Errorf("the proxy sets the header %q itself; remove it", name)
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("the value of the header %q has a control character; remove it", name)
	}
	return nil
}

func sortHeaders(headers []Header) {
	slices.SortFunc(headers, func(a, b Header) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Value, b.Value))
	})
}

// quote returns a text in JSON.
func quote(text string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err) // a string has no value that JSON cannot represent
	}
	return bytes.TrimSpace(out.Bytes())
}
