package explain

import (
	"fmt"
	"strings"

	"anymesh.dev/anymesh/model"
)

// TLS is how the sidecar of the sender connects to a destination.
type TLS struct {
	// Steps describe the decision.
	Steps []string `json:"steps"`
	// Refused is true if the sender refuses the certificate of the destination.
	Refused bool `json:"refused,omitempty"`
	// Assumed is true if the decision depends on files, whose content is assumed to be as the other side requires.
	Assumed bool `json:"assumed,omitempty"`
}

// clientTLS explains the TLS of connections to a destination with a listener, which may be without TLS. It returns the
// handshake that the listener gets.
func clientTLS(client *model.ClientTLS, listener *model.ServerTLS) (*model.Handshake, *TLS) {
	if client == nil {
		return nil, nil
	}
	out, own := &TLS{}, model.Handshake{}
	text := "the sender uses TLS without a certificate of its own"
	if client.Certificate != nil {
		var required *model.Validation
		if listener != nil {
			required = listener.Validation
		}
		own = out.content(*client.Certificate, required)
		text = "the sender uses TLS with the certificate " + certificateName(*client.Certificate)
	}
	out.Steps = []string{text + ", and " + requirement(client.Validation)}
	if listener == nil || listener.Certificate == nil {
		return &own, out // the listener refuses the connection
	}
	ok, why := client.Accepts(out.content(*listener.Certificate, client.Validation))
	if !ok {
		out.Refused = true
		out.Steps = append(out.Steps, fmt.Sprintf("it refuses the certificate %s of the destination: %s",
			certificateName(*listener.Certificate), why))
	}
	return &own, out
}

// content returns what is in a certificate. What a SPIFFE ID does not tell is as the other side requires.
func (t *TLS) content(c model.Certificate, required *model.Validation) model.Handshake {
	known := c.Secret.Content()
	if required == nil {
		return known
	}
	trust, trustsDomain := model.TrustDomainID(required.Trust())
	switch {
	case known.Authority != "" && trustsDomain && trust == required.Trust():
		return known
	case required.Trust() == "":
		return known
	case known.Authority == "":
		known.Names = required.Names
	}
	known.Authority, t.Assumed = required.Trust(), true
	return known
}

func certificateName(c model.Certificate) string {
	if c.Secret.Name != "" {
		return c.Secret.Name
	}
	return c.ChainFile
}

func requirement(v *model.Validation) string {
	switch {
	case v == nil:
		return "accepts each certificate"
	case v.Trust() == "":
		return "accepts no certificate: it trusts no authority"
	case len(v.Names) == 0:
		return "requires a certificate of an authority in " + v.Trust()
	}
	return fmt.Sprintf("requires a certificate of an authority in %s with one of the names %s", v.Trust(),
		strings.Join(v.Names, ", "))
}
