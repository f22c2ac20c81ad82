package config

import (
	"errors"
	"fmt"
	"strings"
)

// Rate limits how much is accepted in a time: a bucket of count plus burst tokens, which gets count tokens in each
// interval. The bucket is full when the object is added.
type Rate struct {
	// Count is the number of tokens in each interval, from 1.
	Count int `json:"count"`
	// Burst is the number of further tokens in the bucket.
	Burst int `json:"burst,omitempty"`
	// Interval is in milliseconds, from 1.
	Interval int `json:"interval"`
}

// RequestRate limits the HTTP requests of a route.
type RequestRate struct {
	// Limit is the rate.
	Limit Rate `json:"limit"`
	// Status is the status of the response to further requests, from 400 to 599. Default: 429.
	Status int `json:"status,omitempty"`
	// Headers are fields of this response.
	Headers []ResponseHeader `json:"headers,omitempty"`
}

// ResponseHeader is a field of a response.
type ResponseHeader struct {
	// Name is the name of the field.
	Name string `json:"name"`
	// Value is its value.
	Value string `json:"value"`
}

const maxRate = 1_000_000_000

func (r *Rate) check(map[string]bool) error {
	if r.Count < 1 || r.Burst < 0 || r.Interval < 1 || max(r.Count, r.Burst, r.Interval) > maxRate {
		return fmt.Errorf("count: count and interval must be from 1 to %d, burst from 0", maxRate)
	}
	return nil
}

func (r *RequestRate) check(set map[string]bool) error {
	if !set["status"] {
		r.Status = 429
	}
	if r.Status < 400 || r.Status > 599 {
		return fmt.Errorf("status: %d is not from 400 to 599", r.Status)
	}
	return nil
}

func (h *ResponseHeader) check(map[string]bool) error {
	if h.Name == "" || strings.ContainsFunc(h.Name, func(c rune) bool { return c <= ' ' || c > '~' || c == ':' }) {
		return fmt.Errorf("name: %q is not a name of a field", h.Name)
	}
	if strings.ContainsAny(h.Value, "\r\n\x00") {
		return errors.New("value: has an end of line, or NUL")
	}
	return nil
}
