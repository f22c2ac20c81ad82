package graph

import (
	"fmt"
	"io"
	"strings"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/model"
)

// Text writes meshes as trees with callers above callees. Each subtree is written once.
func Text(w io.Writer, s terminal.Style, meshes []Mesh) error {
	var b strings.Builder
	for i, m := range meshes {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "mesh %s  %s\n", s.Bold(m.Name), s.Dim("undeclared destinations: "+string(m.Egress)))
		m = m.fold()
		t := tree{out: &b, s: s, nodes: map[string]Node{}, callees: map[string][]Edge{}, shown: map[string]bool{}}
		t.write(m)
	}
	if len(meshes) == 0 {
		b.WriteString("no mesh found\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tree is the text of one mesh.
type tree struct {
	out     *strings.Builder
	s       terminal.Style
	nodes   map[string]Node
	callees map[string][]Edge
	shown   map[string]bool
}

func (t *tree) write(m Mesh) {
	called := map[string]bool{}
	for _, n := range m.Nodes {
		t.nodes[n.ID] = n
	}
	for _, e := range m.Edges {
		t.callees[e.From] = append(t.callees[e.From], e)
		called[e.To] = true
	}
	var roots []string
	for _, n := range m.Nodes {
		if !called[n.ID] {
			roots = append(roots, n.ID)
		}
	}
	// Nodes that are reachable only from a cycle have no root: the first of them becomes a root.
	reachable := map[string]bool{}
	for _, id := range roots {
		t.markReachable(id, reachable)
	}
	for _, n := range m.Nodes {
		if !reachable[n.ID] {
			roots = append(roots, n.ID)
			t.markReachable(n.ID, reachable)
		}
	}
	for i, id := range roots {
		t.writeNode(Edge{To: id}, "", i == len(roots)-1)
	}
}

func (t *tree) markReachable(id string, reachable map[string]bool) {
	if reachable[id] {
		return
	}
	reachable[id] = true
	for _, e := range t.callees[id] {
		t.markReachable(e.To, reachable)
	}
}

func (t *tree) writeNode(e Edge, indent string, last bool) {
	branch, continuation := "├─ ", "│  "
	if last {
		branch, continuation = "└─ ", "   "
	}
	n := t.nodes[e.To]
	t.out.WriteString(t.s.Dim(indent + branch))
	if measures := strings.Join(e.measures(), ", "); measures != "" {
		t.out.WriteString(measures + " ")
	}
	name := t.s.Cyan(n.title())
	if n.Kind == Service {
		name = t.s.Bold(n.title())
	}
	t.out.WriteString(name)
	if remarks := n.remarks(); remarks != "" {
		t.out.WriteString("  " + t.s.Dim(remarks))
	}
	if notes := strings.Join(e.notes(), ", "); notes != "" {
		t.out.WriteString("  " + t.s.Yellow(notes))
	}
	switch severity := n.severity(); severity {
	case model.Error, model.Warning:
		t.out.WriteString("  " + t.s.Severity(string(severity)))
	}
	if t.shown[n.ID] && len(t.callees[n.ID]) > 0 {
		t.out.WriteString("  " + t.s.Dim("(see above)") + "\n")
		return
	}
	t.out.WriteString("\n")
	t.shown[n.ID] = true
	for i, inner := range t.callees[n.ID] {
		t.writeNode(inner, indent+continuation, i == len(t.callees[n.ID])-1)
	}
}
