package identity

import (
	"fmt"
	"regexp"

	"anymesh.dev/anymesh/model"
)

// Limits of Kubernetes names (RFC 1123), in bytes.
const (
	maxLabel     = 63
	maxSubdomain = 253
	maxUID       = 64 // upper bound of an X.520 serialNumber
)

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	uidPattern   = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
)

func checkName(field, value string, shape *regexp.Regexp, limit int) error {
	if len(value) > limit {
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", field, len(value), limit)
	}
	if !shape.MatchString(value) {
		return fmt.Errorf("%s %q is not a valid name", field, value)
	}
	return nil
}

func checkTrustDomain(td string) error {
	if !model.ValidTrustDomain(td) {
		return fmt.Errorf("trust domain %q is not a valid name", td)
	}
	return nil
}

// Claims are the verified facts about a pod that its certificate contains. All fields are required.
type Claims struct {
	Namespace      string
	ServiceAccount string
	Pod            string
	PodUID         string
}

func (c Claims) check() error {
	if err := checkName("namespace", c.Namespace, dnsLabel, maxLabel); err != nil {
		return err
	}
	if err := checkName("service account", c.ServiceAccount, dnsSubdomain, maxSubdomain); err != nil {
		return err
	}
	if err := checkName("pod", c.Pod, dnsSubdomain, maxSubdomain); err != nil {
		return err
	}
	return checkName("pod UID", c.PodUID, uidPattern, maxUID)
}

// ID returns the SPIFFE ID of a service account.
func ID(trustDomain, namespace, serviceAccount string) string {
	return "spiffe://" + trustDomain + "/ns/" + namespace + "/sa/" + serviceAccount
}
