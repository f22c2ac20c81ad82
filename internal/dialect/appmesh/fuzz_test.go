package appmesh_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// FuzzTranslate creates random objects, and changes fields of the objects in testdata. Values come from a small set,
// so that objects refer to each other. The test checks invariants.
func FuzzTranslate(f *testing.F) {
	cases := caseFiles(f)
	for i := range len(cases) + 3 {
		f.Add([]byte{byte(i), 0x5a, 0x13, 0xc7, byte(7 * i), 0xff, 0x80, 0x31})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		fill := filler(data[1:])
		var objects []client.Object
		if i := int(data[0]); i < len(cases) {
			objects = readCase(t, cases[i]).objects
			mutate(objects, fill, rand.New(rand.NewPCG(uint64(len(data)), uint64(data[len(data)-1]))))
		} else {
			objects = randomObjects(fill)
		}
		m, findings := appmesh.Dialect{}.Translate(objects)
		checkModel(t, m)
		for _, f := range findings {
			if !slices.ContainsFunc(model.Codes, func(c model.CodeInfo) bool { return c.Code == f.Code }) {
				t.Errorf("unknown code in %s", f)
			}
		}
		slices.Reverse(objects)
		again, findingsAgain := appmesh.Dialect{}.Translate(objects)
		if a, b := asJSON(t, m), asJSON(t, again); a != b {
			t.Errorf("the model depends on the order:\n%s\n%s", a, b)
		}
		if !slices.Equal(findings, findingsAgain) {
			t.Errorf("the findings depend on the order:\n%s\n%s", asText(findings), asText(findingsAgain))
		}
		status := appmesh.Dialect{}.Statuses(objects, findings)
		for _, o := range objects {
			status(o, someTime)
			appmesh.Status(o, "m", findings, someTime)
			_ = appmesh.ValidateUpdate(o, o)
			_ = appmesh.ValidateCreate(o)
			_ = appmesh.DefaultCreate(o, appmesh.ValidationContext{IPv6: data[0]%2 == 0})
		}
	})
}

// checkModel checks the invariants that drivers require.
func checkModel(t *testing.T, m model.Model) {
	t.Helper()
	ix := model.NewIndex(&m)
	names := map[model.Key]bool{}
	for _, d := range m.Destinations {
		if names[d.Key] || !d.Nowhere() && (d.Port == 0 || d.Discovery.Hostname == "" && d.Discovery.Group == "") {
			t.Errorf("destination %+v", d)
		}
		names[d.Key] = true
	}
	for _, r := range m.Routers {
		for _, route := range r.Routes {
			sum := uint32(0)
			for _, d := range route.Action.Destinations {
				sum += d.Weight
				if !names[model.Key{Mesh: r.Mesh, Name: d.Destination}] {
					t.Errorf("route %s of %s: destination %s does not exist", route.Name, r.Key, d.Destination)
				}
			}
			if len(route.Action.Destinations) > 0 && sum == 0 {
				t.Errorf("route %s of %s has no weight", route.Name, r.Key)
			}
		}
	}
	for _, w := range m.Workloads {
		v, _, ok := model.NewView(ix, w.Key)
		if !ok {
			t.Errorf("workload %s has no view", w.Key)
		}
		v.Decide(model.Request{Port: 80, Protocol: model.HTTP, Host: "a.a", Path: "/a"})
	}
}

// randomObjects returns a few objects of each kind. Names, namespaces and UIDs are unique per kind; specs are random.
func randomObjects(fill *randfill.Filler) []client.Object {
	var objects []client.Object
	for _, name := range []string{"a", "b"} {
		objects = append(objects,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"l": name}}})
		mesh := &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u-" + types.UID(name)}}
		fill.Fill(&mesh.Spec)
		objects = append(objects, mesh)
		for _, ns := range []string{"a", "b"} {
			meta := metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"l": name}}
			node := &api.VirtualNode{ObjectMeta: meta}
			service := &api.VirtualService{ObjectMeta: meta}
			router := &api.VirtualRouter{ObjectMeta: meta}
			gateway := &api.VirtualGateway{ObjectMeta: meta}
			route := &api.GatewayRoute{ObjectMeta: meta}
			fill.Fill(&node.Spec)
			fill.Fill(&service.Spec)
			fill.Fill(&router.Spec)
			fill.Fill(&gateway.Spec)
			fill.Fill(&route.Spec)
			objects = append(objects, node, service, router, gateway, route, &corev1.Pod{ObjectMeta: meta})
		}
	}
	return objects
}

// mutate changes a few fields of the specs.
func mutate(objects []client.Object, fill *randfill.Filler, random *rand.Rand) {
	var fields []reflect.Value
	var gather func(reflect.Value)
	gather = func(v reflect.Value) {
		if v.CanAddr() && v.CanSet() {
			fields = append(fields, v)
		}
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				gather(v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				gather(v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				gather(v.Index(i))
			}
		}
	}
	for _, o := range objects {
		if spec := reflect.ValueOf(o).Elem().FieldByName("Spec"); spec.IsValid() {
			gather(spec)
		}
	}
	for range 1 + random.IntN(4) {
		fill.Fill(fields[random.IntN(len(fields))].Addr().Interface())
	}
}

// filler returns a filler with a small set of valid and invalid values.
func filler(data []byte) *randfill.Filler {
	stock := []string{"a", "b", "a_a", "a.a", "/a", "/", "(", "", "a/b", "arn:aws:appmesh:r:1:mesh/a/virtualNode/a_a"}
	return randfill.NewFromGoFuzz(data).NilChance(.25).NumElements(0, 3).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) { *s = stock[c.Intn(len(stock))] },
		func(n *int64, c randfill.Continue) { *n = []int64{-1, 0, 1, 80, 8080, 1 << 40}[c.Intn(6)] },
		func(p *api.PortNumber, c randfill.Continue) { *p = []api.PortNumber{-1, 0, 80, 8080, 70000}[c.Intn(5)] },
		func(p *api.PortProtocol, c randfill.Continue) {
			*p = []api.PortProtocol{"http", "http2", "grpc", "tcp", "smtp"}[c.Intn(5)]
		},
		func(s *metav1.LabelSelector, c randfill.Continue) {
			if c.Bool() {
				s.MatchLabels = map[string]string{"l": stock[c.Intn(2)]}
			}
		},
		func(r *api.MeshReference, c randfill.Continue) {
			r.Name, r.UID = stock[c.Intn(2)], "u-"+types.UID(stock[c.Intn(2)])
		},
	)
}
