package identity

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// trustSettle is how long all pods must have confirmed a new root before it signs early. Sidecars read certificate
// files again within 10 s, and replicas learn of pods and of changes of the Secret within seconds.
const trustSettle = 15 * time.Second

// Trust is what a replica knows of the pods that verify certificates of the mesh.
type Trust struct {
	// Pods are the UIDs of all pods with a sidecar. A new root signs early only if all of them trust it.
	Pods []string
	// Trusting are the UIDs of pods that have confirmed the bundle to this replica.
	Trusting []string
}

// reportPrefix begins the keys of RecordConfigMap with the reports of replicas about the pods that trust a new root.
func reportPrefix(secret string) string { return secret + ".trusting." }

// confirmations are the first bytes of the hashes of the UIDs of pods that trust a bundle.
type confirmations map[[8]byte]struct{}

func confirmationOf(uid string) [8]byte {
	sum := sha256.Sum256([]byte(uid))
	return [8]byte(sum[:8])
}

func (b *Bundle) id() string {
	sum := sha256.Sum256(b.PEM())
	return hex.EncodeToString(sum[:16])
}

// add adds the confirmations of a report, unless it is about another bundle.
func (c confirmations) add(bundle, report string) {
	of, text, _ := strings.Cut(report, " ")
	all, err := base64.StdEncoding.DecodeString(text)
	if of != bundle || err != nil {
		return
	}
	for one := range slices.Chunk(all, 8) {
		if len(one) == 8 {
			c[[8]byte(one)] = struct{}{}
		}
	}
}

// report encodes the pods that trust a bundle.
func report(bundle string, pods []string) string {
	var all [][8]byte
	for _, uid := range pods {
		all = append(all, confirmationOf(uid))
	}
	slices.SortFunc(all, func(a, b [8]byte) int { return slices.Compare(a[:], b[:]) })
	var text []byte
	for _, one := range all {
		text = append(text, one[:]...)
	}
	return bundle + " " + base64.StdEncoding.EncodeToString(text)
}

// trustState is how far a new root is trusted while Publishing.
type trustState struct {
	missing int    // pods that have not confirmed it
	report  string // of this replica; empty for none
	known   bool
}

// trust returns how far the next root is trusted, as of the last read of the record.
func (k *CAStore) trust() trustState {
	k.mu.Lock()
	s, reports := k.state, k.reports
	k.mu.Unlock()
	if k.opts.Trust == nil || s.phase() != Publishing {
		return trustState{}
	}
	of, known := k.opts.Trust(s.bundle)
	if !known {
		return trustState{}
	}
	bundle, confirmed := s.bundle.id(), confirmations{}
	for replica, text := range reports {
		if replica != k.opts.Replica {
			confirmed.add(bundle, text)
		}
	}
	out := trustState{known: true, report: report(bundle, of.Trusting)}
	confirmed.add(bundle, out.report)
	for _, uid := range of.Pods {
		if _, is := confirmed[confirmationOf(uid)]; !is {
			out.missing++
		}
	}
	return out
}

// trustedLongEnough reports whether all pods have confirmed the next root for trustSettle.
func (k *CAStore) trustedLongEnough() bool {
	now := k.trust()
	k.mu.Lock()
	defer k.mu.Unlock()
	if bundle := k.state.bundle.id(); !now.known || now.missing > 0 || k.trusted.bundle != bundle {
		k.trusted.bundle, k.trusted.since = bundle, time.Time{}
	}
	if !now.known || now.missing > 0 {
		return false
	}
	if k.trusted.since.IsZero() {
		k.trusted.since = k.now()
	}
	return k.now().Sub(k.trusted.since) >= trustSettle
}

// reportDue returns the report that the record lacks, if other replicas need it.
func (k *CAStore) reportDue() (text string, due bool) {
	now := k.trust()
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.report, now.known && now.missing > 0 && now.report != k.reports[k.opts.Replica]
}
