package inspect

import (
	"net/netip"
	"testing"

	"anymesh.dev/anymesh/model"
)

// Dumps are objects or lists; the resources of host names have the same form as the others.
func TestNamesInDump(t *testing.T) {
	hosts := []model.Host{{Name: "cart.local", Addresses: []netip.Addr{netip.MustParseAddr("240.240.0.7")}}}
	const domain = `{"name":"cart.local","endpoint":{"addressList":{"address":["240.240.0.7"]}}}`
	for dump, want := range map[string]string{
		`{"cds_x":{"name":"cds_x"}}`: `{"cart.local":` + domain + `,"cds_x":{"name":"cds_x"}}`,
		`[{"name":"x"}]`: `[{"name":"x"},{"type":"type.googleapis.com/envoy.data.dns.v3.DnsTable.DnsVirtualDomain",` +
			`"name":"cart.local","body":` + domain + `}]`,
		`[]`: `[{"type":"type.googleapis.com/envoy.data.dns.v3.DnsTable.DnsVirtualDomain","name":"cart.local","body":` + domain + `}]`,
	} {
		if got, err := WithNames([]byte(dump), hosts); err != nil || string(got) != want {
			t.Errorf("%s: error %v, got\n%s\nwant\n%s", dump, err, got, want)
		}
	}
	if got, err := WithNames([]byte(`[ ]`), nil); err != nil || string(got) != `[ ]` {
		t.Errorf("without names: got %s, error %v", got, err)
	}
	if _, err := WithNames([]byte(`1`), hosts); err == nil {
		t.Error("invalid dump: got no error")
	}
}
