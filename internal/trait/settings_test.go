package trait

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestLoadSettings(t *testing.T) {
	if got, err := LoadSettings(""); err != nil || got.Enabled {
		t.Errorf("by default, got %+v, %v", got, err)
	}
	for text, want := range map[string]any{
		`{"enabled": true, "provider": "nginx", "definitionNamespace": "defs"}`: Settings{Enabled: true, Provider: "nginx", DefinitionNamespace: "defs"},
		`{"enabled": false}`:  Settings{},
		`{"providers": "x"}`:  `unknown field "providers"`,
		`{"enabled": "true"}`: "cannot unmarshal",
	} {
		path := filepath.Join(t.TempDir(), SettingsFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := LoadSettings(path)
		if message, fails := want.(string); fails {
			if err == nil || !strings.Contains(err.Error(), message) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: got error %v, want %q and the file name", text, err, message)
			}
		} else if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}
