package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// maxSize limits a configuration, in bytes.
const maxSize = 64 << 20

// Load reads a configuration from a file of YAML or JSON.
func Load(file string) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	value, err := ParseYAML(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c := new(Config)
	if value == nil {
		return c, nil
	}
	if err := Decode("", value, c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// ParseYAML parses one document of YAML, of which JSON is a subset. Keys of objects are strings, and are not repeated.
func ParseYAML(text []byte) (any, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("the text is longer than %d bytes", maxSize)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var value any
	if err := d.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	var more any
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("the text has more than one document")
	}
	return value, plainJSON("", value)
}

// plainJSON checks that a value of YAML is one of JSON, and makes it one.
func plainJSON(path string, v any) error {
	switch v := v.(type) {
	case nil, bool, int, float64, string:
	case map[string]any:
		for key, inner := range v {
			if err := plainJSON(path+"."+key, inner); err != nil {
				return err
			}
		}
	case []any:
		for i, inner := range v {
			if err := plainJSON(fmt.Sprintf("%s[%d]", path, i), inner); err != nil {
				return err
			}
		}
	case map[any]any:
		return fmt.Errorf("%s: has keys that are not strings", path)
	default:
		return fmt.Errorf("%s: %v is no value of JSON", path, v)
	}
	return nil
}
