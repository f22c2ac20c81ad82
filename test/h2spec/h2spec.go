// Package h2spec runs h2spec, the conformance tests of HTTP/2, in tests of servers.
package h2spec

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// all is the number of cases.
const all = 146

// Run runs all cases. The function returns the address of the server for a case, or the reason why it is not run.
func Run(t *testing.T, server func(id string) (address, skip string)) {
	cases := 0
	t.Run("cases", func(t *testing.T) {
		for _, g := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
			cases += run(t, g, server)
		}
	})
	if cases < all {
		t.Errorf("%d cases were run, want all %d", cases, all)
	}
}

// run runs the cases of a group and returns their number.
func run(t *testing.T, g *spec.TestGroup, server func(id string) (address, skip string)) int {
	cases := slices.Concat(g.Tests, g.StrictTests)
	count := len(cases)
	for i, one := range cases {
		id := fmt.Sprintf("%s/%d", g.ID(), i+1)
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			address, skip := server(id)
			if skip != "" {
				t.Skip(skip)
			}
			c := configFor(t, address)
			conn, err := spec.Dial(c)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := one.Run(c, conn); err != nil {
				t.Errorf("%s: %s, got: %v", one.Desc, one.Requirement, err)
			}
		})
	}
	for _, sub := range g.Groups {
		count += run(t, sub, server)
	}
	return count
}

func configFor(t *testing.T, address string) *config.Config {
	// The timeout is only reached by a case that fails.
	c := &config.Config{Path: "/", Timeout: 20 * time.Second, MaxHeaderLen: 4000, Strict: true}
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c.Host, c.Port = a.IP.String(), a.Port
	return c
}
