package version

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Limits of versions that clients send.
const (
	// MaxLength limits a version, in characters.
	MaxLength = 64 << 10
	// MaxClusters limits the clusters in a version.
	MaxClusters = 1024
	maxName     = 253
)

// Any is the version of requests that accept any state.
const Any = "0"

// ErrMissing says that a version has no component of the cluster that owns the object.
var ErrMissing = errors.New("the resourceVersion has no version of the cluster")

// ErrRebuilt says that a version is of another cluster with the same name.
var ErrRebuilt = errors.New("the resourceVersion is of an earlier cluster with the same name")

// Parse reads the text of a vector. The texts "" and "0" have meanings of their own and are not vectors.
func Parse(text string) (Vector, error) {
	if len(text) > MaxLength {
		return Vector{}, fmt.Errorf("the resourceVersion has %d characters, the limit is %d", len(text), MaxLength)
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return Vector{}, errors.New("the resourceVersion is not base64 (raw URL encoding) of a JSON object; " +
			"use a version that a response of this server has")
	}
	var v Vector
	decoder := json.NewDecoder(bytes.NewReader(decoded))
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return Vector{}, errors.New("the resourceVersion is not a JSON object of cluster versions")
	}
	for decoder.More() {
		if err := v.parseNext(decoder); err != nil {
			return Vector{}, err
		}
	}
	if _, err := decoder.Token(); err != nil || decoder.InputOffset() != int64(len(decoded)) {
		return Vector{}, errors.New("the resourceVersion does not end after its JSON object")
	}
	if len(v.Components) == 0 {
		return New(), nil
	}
	sorted := New(v.Components...)
	sorted.Partial = v.Partial
	for i, c := range sorted.Components[1:] {
		if c.Cluster == sorted.Components[i].Cluster {
			return Vector{}, fmt.Errorf("the resourceVersion has cluster %q twice", c.Cluster)
		}
	}
	if sorted.Partial && len(sorted.Components) > 1 {
		return Vector{}, errors.New("the resourceVersion of an object has more than one cluster")
	}
	return sorted, nil
}

func (v *Vector) parseNext(decoder *json.Decoder) error {
	var name, value string
	for _, text := range []*string{&name, &value} {
		t, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("the resourceVersion is not valid JSON: %w", err)
		}
		s, ok := t.(string)
		if !ok {
			return errors.New("the resourceVersion has a cluster version that is not a string")
		}
		*text = s
	}
	if len(v.Components) == MaxClusters {
		return fmt.Errorf("the resourceVersion has more than %d clusters", MaxClusters)
	}
	if !ValidCluster(name) {
		return fmt.Errorf("the resourceVersion has %q, which is not the name of a cluster", name)
	}
	c := Component{Cluster: name}
	number, partial := strings.CutSuffix(value, "+")
	number, identity, hasIdentity := strings.Cut(number, "@")
	if hasIdentity && !validIdentity(identity) {
		return fmt.Errorf("the resourceVersion has an identity of cluster %s that is not eight hexadecimal digits", name)
	}
	c.Identity = identity
	var err error
	if c.Version, err = Number(number); err != nil {
		return fmt.Errorf("the resourceVersion has a version of cluster %s that is not valid: %w", name, err)
	}
	v.Partial = v.Partial || partial
	v.Components = append(v.Components, c)
	return nil
}

// Number reads the resource version of a member: a positive integer without leading zeros.
func Number(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || text[0] == '0' {
		return 0, fmt.Errorf("%.40q is not a positive integer without leading zeros", text)
	}
	return n, nil
}

// ValidCluster reports whether a name can be that of a cluster: a DNS subdomain name.
func ValidCluster(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func validIdentity(text string) bool {
	return len(text) == 8 && strings.Trim(text, "0123456789abcdef") == ""
}

// ForCluster maps the version in a write back to the version of the member that owns the object. The texts "" and "0"
// are unchanged. The error wraps ErrMissing or ErrRebuilt, which are conflicts; other errors are bad requests. An
// integer is the version of a single API server, which may be another one than the owner: it is a conflict.
func ForCluster(text, cluster, identity string) (string, error) {
	if text == "" || text == Any {
		return text, nil
	}
	if _, err := Number(text); err == nil {
		return "", fmt.Errorf("%w %s: get the object again, and apply the change to it", ErrMissing, cluster)
	}
	v, err := Parse(text)
	if err != nil {
		return "", err
	}
	c, ok := v.Get(cluster)
	if !ok {
		return "", fmt.Errorf("%w %s: get the object again, and apply the change to it", ErrMissing, cluster)
	}
	if !c.Is(identity) {
		return "", fmt.Errorf("%w %s: get the object again, and apply the change to it", ErrRebuilt, cluster)
	}
	return strconv.FormatUint(c.Version, 10), nil
}

// Is reports whether a component fits the identity of a cluster.
func (c Component) Is(identity string) bool { return c.Identity == "" || c.Identity == identity }
