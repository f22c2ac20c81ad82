package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the limit of a DNS label, so that the name of an object can be used as a label or as a host.
const maxName = 63

// hashDigits are the hex digits that replace the end of a name that is too long.
const hashDigits = 8

// ObjectName returns the parts with hyphens between them. Names of more than 63 characters are cut and end in a hash
// of the parts.
func ObjectName(parts ...string) string {
	name := strings.Join(parts, "-")
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "/"))) // "/" is in no name: other parts have another hash
	return strings.TrimRight(name[:maxName-hashDigits-1], "-.") + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}

// CertificateSecret returns the name of the Secret with the certificate of a Route.
func CertificateSecret(route string) string { return ObjectName(route, "cert") }
