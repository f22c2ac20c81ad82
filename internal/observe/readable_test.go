package observe

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// lineWidth is the maximum width of a map or list in flow style.
const lineWidth = 125

// readable converts JSON to readable YAML: it keeps the key order, uses flow style for short values, and writes
// origins as one string.
func readable(text []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil { // JSON is YAML
		return nil, err
	}
	restyle(&doc)
	doc.Content[0].Style = 0
	replaceRepeated(&doc, map[string][]*yaml.Node{})
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// restyle sets the style of a node and returns its width in flow style.
func restyle(n *yaml.Node) int {
	n.Style = 0
	if n.Kind == yaml.ScalarNode {
		return len(n.Value) + 2
	}
	length := 2
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "origin" {
			*child = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: origin(child)}
		}
		length += restyle(child) + 2
	}
	if length <= lineWidth && len(n.Content) > 0 {
		n.Style = yaml.FlowStyle
	}
	return length
}

// replaceRepeated replaces repeated policies with aliases of the first one of their kind.
func replaceRepeated(n *yaml.Node, seen map[string][]*yaml.Node) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 &&
			slices.Contains([]string{"retry", "retryPolicy", "circuitBreakers"}, n.Content[i-1].Value) {
			kind := n.Content[i-1].Value
			same := func(o *yaml.Node) bool { return equal(o, child) }
			if j := slices.IndexFunc(seen[kind], same); j >= 0 {
				first := seen[kind][j]
				first.Anchor = fmt.Sprintf("%s%d", kind, j+1)
				*child = yaml.Node{Kind: yaml.AliasNode, Alias: first, Value: first.Anchor}
				continue
			}
			seen[kind] = append(seen[kind], child)
		}
		replaceRepeated(child, seen)
	}
}

func equal(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, equal)
}

// origin returns "Kind namespace/name field" of a model.Origin.
func origin(n *yaml.Node) string {
	var o struct {
		Object struct{ Kind, Namespace, Name string }
		Path   string
	}
	if err := n.Decode(&o); err != nil {
		return err.Error()
	}
	name := o.Object.Name
	if o.Object.Namespace != "" {
		name = o.Object.Namespace + "/" + name
	}
	if o.Path == "" {
		return fmt.Sprintf("%s %s", o.Object.Kind, name)
	}
	return fmt.Sprintf("%s %s %s", o.Object.Kind, name, o.Path)
}
