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

// Register makes a dialect available. It panics on an empty name and on a second dialect of one name: both are
// programming errors.
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
	// TrustDomain of the identities of pods; empty means DefaultTrustDomain.
	TrustDomain string
	// Values holds the settings of each dialect by its name, as the chart value of that name has them.
	Values map[string]json.RawMessage
}

// Configurable is a dialect that has settings, or pods with identities.
type Configurable interface {
	// Configure gives the dialect with its settings. trustDomain is not empty; values is nil where there are none. Use
	// Decode to read them.
	Configure(trustDomain string, values json.RawMessage) (Dialect, error)
}

// Configured lists the registered dialects with their settings, ordered by name. Values of a dialect that is not
// registered or has no settings, and unknown fields, are errors.
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
		configurable[d.Name()] = true
		var err error
		if out[i], err = c.Configure(s.TrustDomain, s.Values[d.Name()]); err != nil {
			return nil, fmt.Errorf("settings of dialect %s: %w", d.Name(), err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		if !configurable[name] {
			return nil,
				fmt.Errorf("settings of dialect %s: there is no dialect of this name that has settings; those that have are %s",
					name, strings.Join(slices.Sorted(maps.Keys(configurable)), ", "))
		}
	}
	return out, nil
}

// Decode reads the settings of a dialect into a struct that holds the defaults. Unknown fields are errors; nil leaves
// the defaults.
func Decode(values json.RawMessage, into any) error {
	if len(values) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(values))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
