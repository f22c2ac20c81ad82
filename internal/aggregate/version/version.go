// Package version has global resource versions. Versions of member clusters come in; texts for metadata.resourceVersion
// go out, and back.
package version

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Component is the position in the history of one cluster.
type Component struct {
	Cluster string
	// Identity tells a rebuilt cluster from its predecessor with the same name. It is empty in versions of the plain
	// form, which fits any identity.
	Identity string
	// Version is the member's resource version, larger than 0.
	Version uint64
}

// Vector is a global resource version: a position for each of its clusters, ordered by name.
type Vector struct {
	Components []Component
	// Partial versions are those of objects: they have the component of the owner, and other clusters are unspecified.
	Partial bool
	// NoClusters is the version of a state without clusters. It is not that of requests that accept any state: clients
	// that watch without a version get no deletions of what they have.
	NoClusters bool
	// Integer is the text, instead of the components, if it is not 0.
	Integer uint64
}

// IsAny reports whether the version names no state.
func (v Vector) IsAny() bool { return len(v.Components) == 0 && !v.NoClusters && v.Integer == 0 }

// New returns a vector of components in any order.
func New(components ...Component) Vector {
	sorted := slices.SortedFunc(slices.Values(components), func(a, b Component) int {
		return strings.Compare(a.Cluster, b.Cluster)
	})
	return Vector{Components: sorted, NoClusters: len(sorted) == 0}
}

// Get returns the component of a cluster.
func (v Vector) Get(cluster string) (Component, bool) {
	i, found := slices.BinarySearchFunc(v.Components, cluster, func(c Component, name string) int {
		return strings.Compare(c.Cluster, name)
	})
	if !found {
		return Component{}, false
	}
	return v.Components[i], true
}

// String returns the text for metadata.resourceVersion: base64.RawURLEncoding of a JSON object with sorted keys. The
// text is empty if any state is accepted.
func (v Vector) String() string {
	if v.Integer > 0 {
		return strconv.FormatUint(v.Integer, 10)
	}
	if v.IsAny() {
		return ""
	}
	text := make([]byte, 0, 2+48*len(v.Components))
	if v.NoClusters {
		text = append(text, '{')
	}
	for i, c := range v.Components {
		text = append(text, separator(i))
		text = appendComponent(text, c, v.Partial)
	}
	return base64.RawURLEncoding.EncodeToString(append(text, '}'))
}

// Object returns the version of an object of one cluster.
func Object(c Component) string {
	return Vector{Components: []Component{c}, Partial: true}.String()
}

// AppendObject appends the version of an object to a buffer.
func AppendObject(to []byte, c Component) []byte {
	var space [128]byte
	text := append(appendComponent(append(space[:0], '{'), c, true), '}')
	return base64.RawURLEncoding.AppendEncode(to, text)
}

func separator(i int) byte {
	if i == 0 {
		return '{'
	}
	return ','
}

// appendComponent appends "cluster":"version@identity". Partial versions end with a plus sign.
func appendComponent(to []byte, c Component, partial bool) []byte {
	to = append(to, '"')
	to = append(to, c.Cluster...)
	to = append(to, `":"`...)
	to = strconv.AppendUint(to, c.Version, 10)
	if c.Identity != "" {
		to = append(to, '@')
		to = append(to, c.Identity...)
	}
	if partial {
		to = append(to, '+')
	}
	return append(to, '"')
}

// Identity shortens the identity of a cluster, usually the uid of its namespace kube-system, to eight characters. With
// namespaces, in any order, it is the identity of this part of the cluster.
func Identity(uid string, namespaces ...string) string {
	if uid == "" {
		return ""
	}
	part := strings.Join(append([]string{uid}, slices.Sorted(slices.Values(namespaces))...), "/")
	sum := sha256.Sum256([]byte(part))
	return hex.EncodeToString(sum[:4])
}
