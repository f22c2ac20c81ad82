package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kyaml "sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/model"
)

// Document is one object in a file.
type Document struct {
	File string
	// Line is the line of the first field of the object, from 1.
	Line int
	GVK  schema.GroupVersionKind
	// Ref names the object. Its namespace is empty if the document has none.
	Ref model.ObjectRef
	// JSON is the object as kubectl sends it.
	JSON []byte

	// lenient is the object with values of the kinds that its type needs; nil if they have them.
	lenient []byte
	// unknown is true if a finding says that the kind is unknown.
	unknown bool
	// meant are the names that misspelled fields stand for, by mapping: the written name by the meant one.
	meant  map[*yaml.Node]map[string]string
	node   *yaml.Node
	offset int // line offset of the node in the file
}

// head has the common fields of objects.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// fileDocument stands for a document of a file that is no object.
func fileDocument(file string, line int) *Document {
	return &Document{File: file, Line: line, offset: line - 1, Ref: model.ObjectRef{Kind: "Document", Name: file}}
}

// parse reads one YAML document: nothing, an object, or a list of objects.
func parse(file string, first int, text []byte) parsed {
	d := fileDocument(file, first)
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		d.Line = first + max(lineIn(err)-1, 0)
		return parsed{faults: []Fault{d.fault("", model.CodeUnreadable, "invalid YAML: %s", strip(err))}}
	}
	if len(root.Content) == 0 || root.Content[0].Tag == "!!null" {
		return parsed{}
	}
	d.node = root.Content[0]
	d.Line = d.offset + d.node.Line
	body, err := kyaml.YAMLToJSON(text)
	if err != nil {
		return parsed{faults: []Fault{d.fault("", model.CodeUnreadable, "invalid YAML: %s", strip(err))}}
	}
	return d.objects(body)
}

// headFields are the fields that tell an object of Kubernetes from other content: it has at least two of them.
var headFields = []string{"apiVersion", "kind", "metadata", "spec"}

// isObject reports whether a document is meant to be a Kubernetes object. The case of letters in the names of its
// fields does not matter: a wrong one is a mistake in an object.
func isObject(body []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return false
	}
	n := 0
	for _, name := range headFields {
		for key := range fields {
			if strings.EqualFold(key, name) {
				n++
				break
			}
		}
	}
	return n >= 2
}

// objects returns the document, or the items of a list.
func (d *Document) objects(body []byte) parsed {
	if !isObject(body) {
		return parsed{others: []Fault{d.fault("", model.CodeUnreadable, "not a Kubernetes object: apiVersion and kind are missing")}}
	}
	var h head
	if err := json.Unmarshal(body, &h); err != nil {
		return parsed{faults: []Fault{d.fault(pathIn(err), model.CodeUnreadable, "not a Kubernetes object: %s", mismatch(err))}}
	}
	if h.APIVersion == "" || h.Kind == "" {
		missing := "apiVersion"
		if h.Kind == "" {
			missing = "kind"
		}
		return parsed{faults: []Fault{d.fault("", model.CodeUnreadable, "not a Kubernetes object: %s is missing", missing)}}
	}
	if strings.HasSuffix(h.Kind, "List") && h.Items != nil {
		var all parsed
		items := child(d.node, "items")
		for i, item := range h.Items {
			node := items
			if items != nil && i < len(items.Content) {
				node = items.Content[i]
			}
			inner := &Document{File: d.File, Line: d.Line, offset: d.offset, node: node, Ref: d.Ref}
			if node != nil {
				inner.Line = d.offset + node.Line
			}
			all.add(inner.objects(item))
		}
		return all
	}
	d.JSON = body
	d.GVK = schema.FromAPIVersionAndKind(h.APIVersion, h.Kind)
	d.Ref = model.ObjectRef{Group: d.GVK.Group, Kind: h.Kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name}
	return parsed{documents: []*Document{d}, faults: d.repeated(d.node, "")}
}

// repeated finds duplicate fields; the last one is used, as in API servers.
func (d *Document) repeated(node *yaml.Node, path string) []Fault {
	var out []Fault
	switch {
	case node == nil:
	case node.Kind == yaml.SequenceNode:
		for i, item := range node.Content {
			out = append(out, d.repeated(item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case node.Kind == yaml.MappingNode:
		seen := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			inner := strings.TrimPrefix(path+"."+key.Value, ".")
			if first := seen[key.Value]; first > 0 {
				out = append(out, d.fault(inner, model.CodeUnknownField, "duplicate field, in lines %d and %d", first,
					d.offset+key.Line))
			}
			seen[key.Value] = d.offset + key.Line
			out = append(out, d.repeated(node.Content[i+1], inner)...)
		}
	}
	return out
}

func (d *Document) fault(path string, code model.Code, format string, args ...any) Fault {
	return Fault{
		Document: d,
		Finding:  model.NewFinding(model.NewOrigin(d.Ref).At(path), code, fmt.Sprintf(format, args...)),
	}
}

var step = regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`)

// LineOf returns the line of a field, or of its nearest parent in the document. The path has the format of the API
// server: spec.routes[0].match.
func (d *Document) LineOf(path string) int {
	_, line := d.find(path)
	return line
}

// Content is the object to decode.
func (d *Document) Content() []byte {
	if d.lenient != nil {
		return d.lenient
	}
	return d.JSON
}

// rename records the field that a misspelled one stands for.
func (d *Document) rename(path, meant, written string) {
	node, _ := d.find(path)
	if d.meant == nil {
		d.meant = map[*yaml.Node]map[string]string{}
	}
	if d.meant[node] == nil {
		d.meant[node] = map[string]string{}
	}
	d.meant[node][meant] = written
}

// field finds a field of a mapping, also if it is misspelled.
func (d *Document) field(node *yaml.Node, name string) (key, value *yaml.Node) {
	if key, value = field(node, name); value == nil {
		if written := d.meant[node][name]; written != "" {
			return field(node, written)
		}
	}
	return key, value
}

// find returns the node and the line of a field, or of its nearest parent.
func (d *Document) find(path string) (*yaml.Node, int) {
	node, line := d.node, d.Line
	for _, s := range step.FindAllString(path, -1) {
		var next *yaml.Node
		if index, err := strconv.Atoi(strings.Trim(s, "[]")); err == nil && node != nil &&
			node.Kind == yaml.SequenceNode {
			if index < len(node.Content) {
				next = node.Content[index]
				line = d.offset + next.Line
			}
		} else if err == nil && index == 0 && node != nil && node.Kind == yaml.MappingNode {
			next = node // an object instead of a list
		} else if key, value := d.field(node, strings.Trim(s, "[]")); value != nil {
			next, line = value, d.offset+key.Line
		}
		if next == nil {
			break
		}
		node = next
	}
	return node, line
}

// field finds a field of a mapping.
func field(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}

func child(node *yaml.Node, name string) *yaml.Node {
	_, value := field(node, name)
	return value
}

var lineNumber = regexp.MustCompile(`line (\d+)`)

func lineIn(err error) int {
	if m := lineNumber.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 1
}

// strip removes prefixes of the parser, and line numbers, which are relative to the document and not to the file.
func strip(err error) string {
	text := err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:", "\n"} {
		text = strings.TrimPrefix(text, prefix)
	}
	text = strings.TrimSpace(regexp.MustCompile(`line \d+: `).ReplaceAllString(text, ""))
	if strings.HasPrefix(text, "did not find expected alphabetic or numeric character") { // the name of an alias
		text += `; put a value that begins with * or & into quotes, as "*"`
	}
	return text
}
