package model

import "strings"

// Identity is the SPIFFE identity in a workload's certificate: spiffe://<trust domain>/ns/<namespace>/sa/<account>.
type Identity struct {
	TrustDomain string `json:"trustDomain"`
	Namespace   string `json:"namespace"`
	Account     string `json:"account"`
}

// String returns the SPIFFE ID.
func (i Identity) String() string {
	return spiffeScheme + i.TrustDomain + "/ns/" + i.Namespace + "/sa/" + i.Account
}

// DNSName returns the identity as a DNS name, for sidecars that cannot read the URIs in certificates:
// <account>.<namespace>.sa.<trust domain>. No two identities have the same, because namespaces have no dots.
func (i Identity) DNSName() string { return i.Account + "." + i.Namespace + ".sa." + i.TrustDomain }

// ParseIdentity returns the identity of a SPIFFE ID. It reports false for other names.
func ParseIdentity(id string) (Identity, bool) {
	rest, is := strings.CutPrefix(id, spiffeScheme)
	parts := strings.Split(rest, "/")
	if !is || len(parts) != 5 || parts[1] != "ns" || parts[3] != "sa" {
		return Identity{}, false
	}
	return Identity{TrustDomain: parts[0], Namespace: parts[2], Account: parts[4]}, true
}
