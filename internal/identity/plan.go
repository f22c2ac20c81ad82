package identity

import "slices"

// Plan is what objects of users say about the roots, by names that they choose. Without names, the root is rotated by
// time alone. With names, a rotation waits for the plan after it has waited for the time of each phase, but not for so
// long that the root that signs would expire.
type Plan struct {
	// Active is the name of the root that is due to sign. Empty means the one that does.
	Active string
	// Passive are the names of other roots that are trusted. At most two roots are trusted at a time: the first name
	// that is not that of the root that signs counts.
	Passive []string
	// TrustDomains are the trust domains of named roots, as far as they differ from that of CAStoreOptions. While roots
	// of several domains are trusted, an account has an identity in each: see CAStore.TrustDomains.
	TrustDomains map[string]string
	// Unknown means that the objects have not been read yet: no phase ends, and none begins.
	Unknown bool
}

// rootNames are the names of the roots of a state. They are empty for roots that no plan has named.
type rootNames struct{ signer, next, previous string }

func (n rootNames) of(role Role) string {
	return map[Role]string{RoleSigning: n.signer, RoleNext: n.next, RolePrevious: n.previous}[role]
}

// next returns the name of the root that is to be published, and whether the plan wants one. A root that is published
// for another reason gets the name of the one that it replaces.
func (p Plan) next(signer string) (name string, wanted bool) {
	if p.Active != "" && p.Active != signer {
		return p.Active, true
	}
	for _, name := range p.Passive {
		if name != signer {
			return name, true
		}
	}
	return signer, false
}

// verdict is what happens to the next root after the time of Publishing.
type verdict int

const (
	signs verdict = iota
	stays
	withdrawn
)

// ofNext decides about the next root; wait is false if the one that signs is near its end.
func (p Plan) ofNext(names rootNames, wait bool) verdict {
	switch {
	case names.next == names.signer, names.next == p.Active, !wait:
		return signs // it is not planned, or its turn has come
	case slices.Contains(p.Passive, names.next):
		return stays
	}
	return withdrawn
}

// keeps reports whether the previous root stays trusted after the time of Retiring.
func (p Plan) keeps(names rootNames) bool {
	return names.previous != names.signer && slices.Contains(p.Passive, names.previous)
}
