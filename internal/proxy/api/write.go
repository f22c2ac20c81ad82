package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// The content types of bodies.
var (
	jsonTypes = []string{"application/json", "application/x-json", "text/json", "text/x-json"}
	yamlTypes = []string{"text/yaml", "text/x-yaml", "application/yaml", "application/x-yaml"}
)

// write serves POST, and PUT, which updates.
func (h handler) write(path []string, r *http.Request, update bool) error {
	if len(path) == 0 {
		return errUnknown
	}
	add := h.target(path, update)
	if add == nil {
		return errUnknown
	}
	body, err := read(r)
	if err != nil {
		return err
	}
	return add(body)
}

// target returns the function that adds or updates what a path names; nil if it names nothing.
func (h handler) target(path []string, update bool) func(body any) error {
	class := path[0]
	switch {
	case len(path) == 1 && class == "config":
		return h.replace
	case len(path) == 1 && class == "admin":
		return func(body any) error { return add(h, "admin", "", unwrapped("admin", body), h.SetAdmin) }
	case len(path) == 3 && class == "clusters" && path[2] == "endpoints" && !update:
		return func(body any) error {
			return add(h, "endpoint", "", body, func(e config.Endpoint) error { return h.AddEndpoint(path[1], e) })
		}
	case len(path) == 4 && class == "rulelists" && path[2] == "rules" && !update:
		return func(body any) error {
			return add(h, "rule", "", body, func(r config.RuleRef) error { return h.InsertRule(path[1], path[3], r) })
		}
	case update && len(path) == 2:
		return h.updater(class, path[1])
	case !update && len(path) == 1:
		return h.adder(class)
	}
	return nil
}

func (h handler) adder(class string) func(any) error {
	switch class {
	case "listeners":
		return func(b any) error { return add(h, "listener", "", b, h.AddListener) }
	case "clusters":
		return func(b any) error { return add(h, "cluster", "", b, h.AddCluster) }
	case "rulelists":
		return func(b any) error { return add(h, "rulelist", "", b, h.AddRuleList) }
	case "rules":
		return func(b any) error { return add(h, "rule", "", b, h.AddRule) }
	case "routes":
		return func(b any) error { return add(h, "route", "", b, h.AddRoute) }
	}
	return nil
}

func (h handler) updater(class, name string) func(any) error {
	switch class {
	case "listeners":
		return func(b any) error { return add(h, "listener", name, b, h.UpdateListener) }
	case "clusters":
		return func(b any) error { return add(h, "cluster", name, b, h.UpdateCluster) }
	case "rulelists":
		return func(b any) error { return add(h, "rulelist", name, b, h.UpdateRuleList) }
	case "rules":
		return func(b any) error { return add(h, "rule", name, b, h.UpdateRule) }
	case "routes":
		return func(b any) error { return add(h, "route", name, b, h.UpdateRoute) }
	}
	return nil
}

// add decodes an object below its key, and hands it on. With a name, the object must have none or the same.
func add[T any](h handler, key, name string, body any, do func(T) error) error {
	verb := "add"
	if name != "" {
		verb = "update"
	}
	wrapper, is := body.(map[string]any)
	inner, has := wrapper[key]
	if !is || !has || len(wrapper) != 1 {
		return h.invalid(fmt.Sprintf("Cannot %s %s: the body must be an object with the key %q", verb, key, key))
	}
	object, isObject := inner.(map[string]any)
	if name != "" && isObject {
		if object["name"] == nil {
			object["name"] = name
		}
		if object["name"] != name {
			return h.invalid(fmt.Sprintf("Cannot update %s: the name is not that of the path", key))
		}
	}
	var out T
	if err := config.Decode("", inner, &out); err != nil {
		return h.invalid(fmt.Sprintf("Cannot %s %s: %s", verb, key, property(err)))
	}
	_, inList := any(out).(config.RuleRef) // its name may be generated
	if isObject && !inList && object["name"] == nil && slices.Contains(named, key) {
		return h.invalid(fmt.Sprintf("Cannot %s %s: Property name is required", verb, key))
	}
	return do(out)
}

// named are the objects that need a name in the API.
var named = []string{"listener", "cluster", "rulelist", "rule", "route"}

// property returns the text of an error, in the words of l7mp if a property of the object itself is missing.
func property(err error) string {
	if name, is := strings.CutSuffix(err.Error(), ": is required"); is && !strings.ContainsAny(name, ".[ ") {
		return "Property " + name + " is required"
	}
	return err.Error()
}

// invalid returns the error of an object that is not valid; in strict mode it has another status.
func (h handler) invalid(text string) error {
	if h.Strict() {
		return &failure{
			http.StatusUnprocessableEntity, "Unprocessable Entity: Input JSON schema validation failed",
			[]any{map[string]any{"message": text}},
		}
	}
	return errors.New(text)
}

func unwrapped(key string, body any) any {
	if object, is := body.(map[string]any); is && object[key] != nil {
		return body
	}
	return map[string]any{key: body}
}

func (h handler) replace(body any) error {
	if object, is := body.(map[string]any); is && len(object) == 1 && object["config"] != nil {
		body = object["config"]
	}
	c := new(config.Config)
	if err := config.Decode("", body, c); err != nil {
		return h.invalid("Cannot apply the configuration: " + err.Error())
	}
	return h.Replace(c)
}

// read returns the body of a request as a value of JSON.
func read(r *http.Request) (any, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && slices.Contains(yamlTypes, kind):
		value, err := config.ParseYAML(text)
		if err != nil {
			return nil, fmt.Errorf("Bad YAML: %w", err)
		}
		return value, nil
	case err == nil && slices.Contains(jsonTypes, kind):
		var value any
		d := json.NewDecoder(bytes.NewReader(text))
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("Bad JSON: %w", err)
		}
		if d.More() {
			return nil, errors.New("Bad JSON: there is more than one value")
		}
		return value, nil
	}
	return nil, &failure{status: http.StatusUnsupportedMediaType, content: fmt.Sprintf("Unsupported content type %q", r.Header.Get("Content-Type"))}
}
