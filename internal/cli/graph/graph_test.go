package graph

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/engine"
)

var update = flag.Bool("update", false, "rewrite the drawings in testdata")

func stateOf(t *testing.T, name string) *engine.State {
	t.Helper()
	files, err := manifest.Read([]string{name}, nil)
	if err != nil || len(files.Faults) > 0 {
		t.Fatal(err, files.Faults)
	}
	dialects := dialect.All()
	var kinds []client.Object
	for _, d := range dialects {
		kinds = append(kinds, d.Kinds()...)
	}
	set, err := manifest.Decode(files.Documents, kinds, "default")
	if err != nil {
		t.Fatal(err)
	}
	set.Complete(dialect.All())
	return engine.Compute(dialects, engine.Settings{}, set.Objects)
}

func TestGraphOutput(t *testing.T) {
	for name, source := range map[string]string{"shop": "testdata/shop.yaml", "colors": "../../../examples/colors"} {
		meshes := Of(stateOf(t, source), false)
		for extension, draw := range map[string]func(io.Writer) error{
			"txt":  func(w io.Writer) error { return Text(w, terminal.Style{}, meshes) },
			"dot":  func(w io.Writer) error { return DOT(w, meshes) },
			"svg":  func(w io.Writer) error { return SVG(w, meshes) },
			"json": func(w io.Writer) error { return terminal.JSON(w, meshes) },
		} {
			t.Run(name+"."+extension, func(t *testing.T) {
				file := filepath.Join("testdata", name+"."+extension)
				var got bytes.Buffer
				if err := draw(&got); err != nil {
					t.Fatal(err)
				}
				if *update {
					if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%s differs; if the change is correct, run go test ./internal/cli/graph -update\ngot\n%s",
						file,
						got.String())
				}
			})
		}
	}
}

// Names with special characters give valid XML.
func TestSVGIsXML(t *testing.T) {
	m := Mesh{Name: `<a href="x">&`, Nodes: []Node{
		{ID: "a", Kind: Service, Name: `"<&>'`}, {ID: "b", Name: "]]>"},
	}, Edges: []Edge{
		{From: "a", To: "b", Routes: []Share{{Route: "<r>", Percent: "50.0%"}}, routeCount: 2},
	}}
	var out bytes.Buffer
	if err := SVG(&out, []Mesh{m}); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(out.String()))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
	}
	if strings.Contains(out.String(), "<a href") || !strings.Contains(out.String(), "&lt;r&gt; 50%") {
		t.Errorf("names are not escaped: %s", out.String())
	}
}

// In any graph, also with cycles, edges connect adjacent layers, items do not overlap, and all items are within the
// returned size.
func TestLayoutOfRandomGraphs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		nodes := 1 + r.IntN(20)
		var edges [][2]int
		for range r.IntN(40) {
			edges = append(edges, [2]int{r.IntN(nodes), r.IntN(nodes)})
		}
		if err := checkLayers(nodes, edges); err != nil {
			t.Fatalf("seed %d, %d nodes, edges %v: %v", seed, nodes, edges, err)
		}
	}
}

func checkLayers(nodes int, edges [][2]int) error {
	g := layer(nodes, edges)
	w, h := g.layout(func(int) float64 { return 100 }, func(int) float64 { return 0 })
	placed := 0
	for n, l := range g.layers {
		for k, i := range l {
			if i.node >= 0 {
				placed++
			}
			if i.layer != n || i.x-i.w/2 < -0.01 || i.x+i.w/2 > w+0.01 || i.y-i.h/2 < -0.01 || i.y+i.h/2 > h+0.01 {
				return fmt.Errorf("%+v is outside of %v x %v or its layer %d", i, w, h, n)
			}
			if k > 0 && i.y-i.h/2 < l[k-1].y+l[k-1].h/2+verticalGap-0.01 {
				return fmt.Errorf("%+v is too close to %+v", i, l[k-1])
			}
		}
	}
	if placed != nodes {
		return fmt.Errorf("%d of %d nodes are placed", placed, nodes)
	}
	for n, path := range g.paths {
		if path[0].node != edges[n][0] || path[len(path)-1].node != edges[n][1] {
			return fmt.Errorf("path %d does not connect %v", n, edges[n])
		}
		for k := 1; k < len(path); k++ {
			if d := path[k].layer - path[k-1].layer; d != 1 && d != -1 && path[0] != path[len(path)-1] {
				return fmt.Errorf("path %d has a step of %d layers", n, d)
			}
		}
	}
	return nil
}
