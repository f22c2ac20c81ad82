package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// maxConfig limits the size of each file, and that of the option, in bytes. The kernel accepts arguments of 128 KiB.
const maxConfig = 120 << 10

// withConfigFiles returns the command with the content of YAML files in the value of an option. Objects are merged,
// lists are appended, other values are replaced; later files take precedence over earlier ones and over the value that
// the option already has.
func withConfigFiles(command []string, option string, files []string) ([]string, error) {
	if len(files) == 0 {
		return command, nil
	}
	if option == "" {
		return nil, errors.New("agent: --config-file requires --config-argument")
	}
	out, at := withOption(command, option)
	merged, err := parseConfig([]byte(out[at]))
	if err != nil {
		return nil, fmt.Errorf("agent: option %s: %w", option, err)
	}
	for _, file := range files {
		text, err := readLimited(file)
		if err != nil {
			return nil, fmt.Errorf("agent: configuration of the proxy: %w", err)
		}
		content, err := parseConfig(text)
		if err != nil {
			return nil, fmt.Errorf("agent: configuration of the proxy: %s: %w", file, err)
		}
		mergeConfig(merged, content)
	}
	text, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("agent: configuration of the proxy: %w", err)
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("agent: configuration of the proxy: the files %s have together more than %d bytes",
			strings.Join(files, ", "), maxConfig)
	}
	out[at] = string(text)
	return out, nil
}

// withOption returns a copy of the command with the option, and the index of the option's value.
func withOption(command []string, option string) ([]string, int) {
	out := slices.Clone(command)
	at := slices.Index(out, option) + 1
	if at == 0 || at == len(out) {
		out, at = append(out, option, "{}"), len(out)+1
	}
	return out, at
}

// readLimited reads a file of at most maxConfig bytes.
func readLimited(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("%s: it has more than %d bytes", file, maxConfig)
	}
	return text, nil
}

// parseConfig parses an object in YAML. Its keys get the form of protobuf, so that stats_config and statsConfig are
// one.
func parseConfig(text []byte) (map[string]any, error) {
	var content map[string]any
	if err := yaml.UnmarshalStrict(text, &content); err != nil {
		return nil, fmt.Errorf("it is not a YAML object: %w", err)
	}
	if content == nil {
		if strings.TrimSpace(string(text)) != "{}" {
			return nil, errors.New("it is empty")
		}
		content = map[string]any{}
	}
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(content)) {
		value := content[key]
		// Deeper keys may be data, and are not changed.
		if object, is := value.(map[string]any); is {
			value = snakeKeys(object)
		}
		mergeConfig(out, map[string]any{snakeCase(key): value})
	}
	return out, nil
}

func snakeKeys(object map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		mergeConfig(out, map[string]any{snakeCase(key): object[key]})
	}
	return out
}

// snakeCase returns the name of a field in a .proto file for its name in JSON.
func snakeCase(name string) string {
	var out strings.Builder
	for _, c := range name {
		if unicode.IsUpper(c) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}

// mergeConfig merges an object into another one.
func mergeConfig(into, from map[string]any) {
	for key, value := range from {
		switch old := into[key].(type) {
		case map[string]any:
			if object, is := value.(map[string]any); is {
				mergeConfig(old, object)
				continue
			}
		case []any:
			if list, is := value.([]any); is {
				into[key] = append(old, list...)
				continue
			}
		}
		into[key] = value
	}
}
