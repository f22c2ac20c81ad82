package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/identity"
)

func TestIdentityStatusOutput(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	until := now.Add(30 * time.Hour)
	root := func(role identity.Role, print string) identity.Root {
		return identity.Root{Role: role, Fingerprint: print, NotAfter: now.Add(1000 * time.Hour), Subject: "CN=root"}
	}
	st := identity.Status{
		TrustDomain: "cluster.local", Phase: identity.Retiring, Managed: true, LifetimeSeconds: 86400, Until: &until,
		LastError: "Secret a/b: x",
		Roots: []identity.Root{
			root(identity.RoleSigning, "0123456789abcdef0123"), root(identity.RolePrevious, "fedcba98765432100123"),
		},
	}
	st.Roots[1].Name = "Root a/one"
	roots := st.Roots
	var out bytes.Buffer
	if err := printIdentities(&out, terminal.Style{}, []planeIdentity{{"anymesh-1", st}}, now); err != nil {
		t.Fatal(err)
	}
	want := `control plane         anymesh-1
trust domain          cluster.local
certificate lifetime  24h0m0s
rotation              Retiring: the new root signs, the old root is still trusted, until 2026-11-22T18:00:00Z (30h0m0s)
last error            Secret a/b: x; the last valid CA stays in use
ROOT      EXPIRES               FINGERPRINT (SHA-256)  SUBJECT
signing   2027-01-02T04:00:00Z  0123456789abcdef       CN=root
previous  2027-01-02T04:00:00Z  fedcba9876543210       CN=root (Root a/one)
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	st.Roots, st.Phase, st.Until = nil, identity.Steady, nil
	if err := printIdentities(&out, terminal.Style{}, []planeIdentity{{"anymesh-1", st}}, now); err != nil {
		t.Fatal(err)
	}
	if want := "last error            Secret a/b: x\n"; !strings.Contains(out.String(), want) {
		t.Errorf("without any valid CA: got\n%swant\n%s", out.String(), want)
	}
	st.Roots = roots
	for want, st := range map[string]identity.Status{
		"Publishing: sidecars receive the new root, the old root signs, until all have confirmed it (2 have not), at the latest until 2026-11-22T18:00:00Z (30h0m0s)": {Phase: identity.Publishing, Managed: true, Until: &until, Unconfirmed: new(2)},
		"Publishing: sidecars receive the new root, the old root signs, until 2026-11-22T18:00:00Z (30h0m0s)":                                                         {Phase: identity.Publishing, Managed: true, Until: &until},
		"Steady: the next rotation starts automatically at 2026-11-22T18:00:00Z":                                                                                      {Phase: identity.Steady, Managed: true, RotateAt: &until},
		"none: the CA is not managed by Anymesh": {Phase: identity.Steady},
		"Retiring: the new root signs, the old root is still trusted, until the roles of objects change": {
			Phase: identity.Retiring, Managed: true, Until: &now, Roots: st.Roots,
		},
		"Cooling": {Phase: "Cooling", Managed: true},
	} {
		t.Run(string(st.Phase), func(t *testing.T) {
			if got := describePhase(st, now); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
