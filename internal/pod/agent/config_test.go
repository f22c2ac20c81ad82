package agent

import (
	"strings"
	"testing"
)

func TestConfigValidation(t *testing.T) {
	good := Config{Command: []string{"x"}, SigningURL: "https://x", TokenPath: "t", RootsPath: "r", CertDir: "c",
		Listen: ":0"}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"command":            func(c *Config) { c.Command, c.ReadyURL = nil, "http://x" },
		"signing URL":        func(c *Config) { c.SigningURL = "" },
		"certificate folder": func(c *Config) { c.CertDir = "" },
		"health URL":         func(c *Config) { c.HealthURL = "https://x" },
		"ready URL":          func(c *Config) { c.ReadyURL = "ftp://x" },
		"negative":           func(c *Config) { c.DrainDuration = -1 },
		"a/livez":            func(c *Config) { c.Probes = map[string]Probe{"a/livez": {}} },
	} {
		t.Run(want, func(t *testing.T) {
			c := good
			change(&c)
			if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not name the %s", err, want)
			}
		})
	}
	good.Listen = "256.0.0.1:0"
	if err := Run(t.Context(), good); err == nil {
		t.Error("no error for an invalid listen address")
	}
}
