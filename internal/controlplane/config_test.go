package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadMeshConfig(t *testing.T) {
	load := func(text string) error {
		path := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadMeshConfig(path, func() bool { return true })
		if err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("the error does not contain the file name: %v", err)
		}
		return err
	}
	for text, want := range map[string]string{
		`{}`: "",
		`{"sidecar": {"sidecarClass": "envoy", "sidecarDrivers": [{"sidecarName": "envoy", "proxyServerPort": 15128}]}}` + "\n": "",
		``:                                      "EOF",
		`[]`:                                    "cannot unmarshal",
		`{"sidecar": {"sidecarClas": "envoy"}}`: `unknown field "sidecarClas"`,
		`{"traffic": {}}`:                       `unknown field "traffic"`,
		`{"sidecar": {"sidecarImage": 7}}`:      "cannot unmarshal",
		`{"sidecar": {}} {"sidecar": {}}`:       "more than one",
		`{"sidecar": {}} trailing text`:         "more than one",
		`{"sidecar": {"sidecarImage": "a"}`:     "EOF",
		`{"sidecar": {"sidecarDrivers": {"a": 1}}}`:                                     "cannot unmarshal",
		`{"sidecar": {"dns": "All", "reservedRanges": ["241.0.0.0/16", "fd00::/112"]}}`: "",
		`{"sidecar": {"ipv6": "on"}}`:                                                   `sidecar.ipv6 is "on"; set Auto, Enabled or Disabled`,
		`{"sidecar": {"dns": "on"}}`:                                                    `sidecar.dns is "on"`,
		`{"sidecar": {"reservedRanges": ["10.0.0.0/8", "10.0.0.0/16"]}}`:                "10.0.0.0/8 and 10.0.0.0/16 have the same family",
		`{"sidecar": {"reservedRanges": ["10.0.0.1/8"]}}`:                               "is not the first address",
		`{"sidecar": {"reservedRanges": ["10.0.0.0/29"]}}`:                              "fewer than 16 addresses",
		`{"sidecar": {"reservedRanges": ["224.0.0.0/8"]}}`:                              "not a range of unicast addresses",
		`{"sidecar": {"reservedRanges": ["x"]}}`:                                        "x",
	} {
		t.Run(text, func(t *testing.T) {
			err := load(text)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got error %v, want %q", err, want)
			}
		})
	}
	if _, err := LoadMeshConfig(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("got no error for a file that does not exist")
	}
}

func TestServiceNames(t *testing.T) {
	c := Config{Namespace: "mesh"}
	if got := strings.Join(c.serviceNames(), " "); got != "anymesh.mesh.svc.cluster.local anymesh.mesh.svc" {
		t.Errorf("got %s", got)
	}
}

// Sidecars listen on IPv6 if the setting says so, or else if the kernel has it.
func TestIPv6OfSidecars(t *testing.T) {
	for text, want := range map[string][2]bool{ // without and with IPv6 in the kernel
		`{}`:                                {false, true},
		`{"sidecar": {"ipv6": "Auto"}}`:     {false, true},
		`{"sidecar": {"ipv6": "Enabled"}}`:  {true, true},
		`{"sidecar": {"ipv6": "Disabled"}}`: {false, false},
	} {
		path := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, inKernel := range []bool{false, true} {
			config, err := LoadMeshConfig(path, func() bool { return inKernel })
			if err != nil || config.GetIPv6() != want[i] || config.Of("other").GetIPv6() != want[i] {
				t.Errorf("%s, in the kernel %v: got %+v, %v; want IPv6 %v", text, inKernel, config, err, want[i])
			}
		}
	}
}
