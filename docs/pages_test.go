package docs

import (
	"os"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/model"
)

func TestPagesAreUpToDate(t *testing.T) {
	pages, err := Pages()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want {
			t.Errorf("%s is not up to date (%v); run: make generate", name, err)
		}
	}
}

// notImplemented are the fields of policies of OSM that have no effect, by the kind and the start of the path.
var notImplemented = []string{
	"AccessCert ", "EgressGateway ", "Egress sources[].mtls", "AccessControl matches", "IngressBackend matches",
	"UpstreamTrafficSetting httpHeaders", "UpstreamTrafficSetting rateLimit.global",
	"UpstreamTrafficSetting httpRoutes[].rateLimit.global",
}

// Every field of the schemas has an effect or a finding, and none is missing.
func TestNoFieldIsSilentlyIgnored(t *testing.T) {
	excepted := map[string]bool{}
	for page, least := range map[string]int{"appmesh.md": 100, "osm.md": 130, "l7mp.md": 40} {
		text, err := os.ReadFile(page) // TestPagesAreUpToDate compares it with the effects
		if err != nil {
			t.Fatal(err)
		}
		rows, kind := 0, ""
		for line := range strings.Lines(string(text)) {
			if name, is := strings.CutPrefix(line, "## "); is {
				kind = strings.TrimSpace(name)
			}
			field, is := strings.CutPrefix(line, "| `")
			if !is {
				continue
			}
			rows++
			i := slices.IndexFunc(notImplemented, func(p string) bool { return strings.HasPrefix(kind+" "+field, p) })
			missing := strings.Contains(line, "FieldNotImplemented")
			if strings.Contains(line, ignored) || missing && i < 0 {
				t.Errorf("%s: %s", page, line)
			}
			if missing && i >= 0 {
				excepted[notImplemented[i]] = true
			}
		}
		if rows < least {
			t.Errorf("%s has only %d fields", page, rows)
		}
	}
	if len(excepted) != len(notImplemented) {
		t.Errorf("only %v of %v are not implemented", excepted, notImplemented)
	}
}

// TestDriversSupportOnlyFeaturesOfTheModel checks that drivers list only features of the model.
func TestDriversSupportOnlyFeaturesOfTheModel(t *testing.T) {
	known := map[model.Feature]bool{}
	for _, f := range model.AllFeatures() {
		known[f] = true
	}
	for f := range (envoy.Driver{}).Supports() {
		if !known[f] {
			t.Errorf("envoy supports %q, which is not a feature of the model", f)
		}
	}
}
