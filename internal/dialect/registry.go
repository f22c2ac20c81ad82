package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

var (
	registryMutex sync.RWMutex
	registry      = map[string]Dialect{}
)

// Register registers a dialect. It panics if the name is empty or already registered: both are programming errors.
func Register(d Dialect) {
	registryMutex.Lock()
	defer registryMutex.Unlock()
	name := d.Name()
	if name == "" {
		panic("dialect: Register dialect without a name")
	}
	if _, dup := registry[name]; dup {
		panic("dialect: Register called twice for dialect " + name)
	}
	registry[name] = d
	resetScheme()
}

// All lists the registered dialects with their default settings, ordered by name.
func All() []Dialect {
	registryMutex.RLock()
	defer registryMutex.RUnlock()
	var out []Dialect
	for _, name := range slices.Sorted(maps.Keys(registry)) {
		out = append(out, registry[name])
	}
	return out
}

// Settings are the settings of all dialects.
type Settings struct {
	// TrustDomain is the trust domain of the pods' identities. The default is DefaultTrustDomain.
	TrustDomain string
	// Values has the settings of each dialect by its name, in the format of the chart value with that name.
	Values map[string]json.RawMessage
	// SidecarClasses are the sidecar drivers that serve pods; nil if they are not known.
	SidecarClasses []string
}

// Configurable is a dialect that has settings, or pods with identities.
type Configurable interface {
	// Configure returns the dialect with its settings, usually those of its name in s.Values, which Decode reads. The
	// trust domain is not empty.
	Configure(s Settings) (Dialect, error)
	// Values returns the default settings: a struct that encodes as a JSON object, or nil if the chart has no value with
	// the name of the dialect.
	Values() any
}

// Configured lists the registered dialects with their settings, ordered by name. Unknown fields are errors, and so
// are values of a dialect that is not registered or has no settings.
func Configured(s Settings) ([]Dialect, error) {
	if s.TrustDomain == "" {
		s.TrustDomain = DefaultTrustDomain
	}
	out := All()
	configurable := map[string]bool{}
	for i, d := range out {
		c, ok := d.(Configurable)
		if !ok {
			continue
		}
		if c.Values() != nil {
			configurable[d.Name()] = true
		}
		var err error
		if out[i], err = c.Configure(s); err != nil {
			return nil, fmt.Errorf("settings of dialect %s: %w", d.Name(), err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		if !configurable[name] {
			return nil,
				fmt.Errorf("settings of dialect %s: no such dialect with settings; dialects with settings: %s",
					name, strings.Join(slices.Sorted(maps.Keys(configurable)), ", "))
		}
	}
	return out, nil
}

// Decode reads the settings of a dialect into a struct with the defaults. Unknown fields are errors. If values is
// empty, the defaults stay.
func Decode(values json.RawMessage, into any) error {
	if len(values) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(values))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
