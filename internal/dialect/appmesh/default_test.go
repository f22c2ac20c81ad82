package appmesh_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

func surroundings() appmesh.ValidationContext {
	gateway := func(name string, namespaces, routes *metav1.LabelSelector, mesh api.MeshReference) *api.VirtualGateway {
		return &api.VirtualGateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: "gws", Name: name, UID: "uid-of-gw"},
			Spec: api.VirtualGatewaySpec{
				NamespaceSelector: namespaces, GatewayRouteSelector: routes, MeshRef: &mesh,
			},
		}
	}
	return appmesh.ValidationContext{
		NamespaceLabels: map[string]string{"mesh": "m"},
		Meshes: []*api.Mesh{
			{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "uid-of-m"}, Spec: api.MeshSpec{NamespaceSelector: labeled("mesh=m")}},
			{ObjectMeta: metav1.ObjectMeta{Name: "nothing"}},
		},
		Gateways: []*api.VirtualGateway{
			gateway("labeled", labeled("mesh=m"), labeled("gw=labeled"),
				api.MeshReference{Name: "m", UID: "uid-of-m"}),
			gateway("stranger", labeled("mesh=m"), labeled("gw=stranger"),
				api.MeshReference{Name: "m", UID: "another"}),
			gateway("nothing", nil, nil, api.MeshReference{Name: "m", UID: "uid-of-m"}),
		},
	}
}

var newMeta = metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: map[string]string{"gw": "labeled"}}

// TestDefaultCreate shows what each kind looks like after admission.
func TestDefaultCreate(t *testing.T) {
	mesh := &api.MeshReference{Name: "m", UID: "uid-of-m"}
	for name, c := range map[string]struct{ object, want client.Object }{
		"Mesh":           {&api.Mesh{ObjectMeta: newMeta}, &api.Mesh{ObjectMeta: newMeta, Spec: api.MeshSpec{AWSName: new("x")}}},
		"VirtualNode":    {&api.VirtualNode{ObjectMeta: newMeta}, &api.VirtualNode{ObjectMeta: newMeta, Spec: api.VirtualNodeSpec{AWSName: new("x_ns"), MeshRef: mesh}}},
		"VirtualService": {&api.VirtualService{ObjectMeta: newMeta}, &api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("x.ns"), MeshRef: mesh}}},
		"VirtualRouter":  {&api.VirtualRouter{ObjectMeta: newMeta}, &api.VirtualRouter{ObjectMeta: newMeta, Spec: api.VirtualRouterSpec{AWSName: new("x_ns"), MeshRef: mesh}}},
		"VirtualGateway": {&api.VirtualGateway{ObjectMeta: newMeta}, &api.VirtualGateway{ObjectMeta: newMeta, Spec: api.VirtualGatewaySpec{AWSName: new("x_ns"), MeshRef: mesh}}},
		"GatewayRoute": {&api.GatewayRoute{ObjectMeta: newMeta}, &api.GatewayRoute{ObjectMeta: newMeta, Spec: api.GatewayRouteSpec{
			AWSName: new("x_ns"), MeshRef: mesh,
			VirtualGatewayRef: &api.VirtualGatewayReference{Namespace: new("gws"), Name: "labeled", UID: "uid-of-gw"},
		}}},
		"BackendGroup": {&api.BackendGroup{ObjectMeta: newMeta}, &api.BackendGroup{ObjectMeta: newMeta, Spec: api.BackendGroupSpec{MeshRef: mesh}}},
		"an empty awsName": {
			&api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("")}},
			&api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("x.ns"), MeshRef: mesh}},
		},
		"a stated awsName": {
			&api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("www.example.com")}},
			&api.VirtualService{
				ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("www.example.com"), MeshRef: mesh},
			},
		},
	} {
		if err := appmesh.DefaultCreate(c.object, surroundings()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, c.object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDefaultCreateReplacesEmptyName: an awsName of no letters is none, on creation; an update fills in nothing, so
// that none is a change.
func TestDefaultCreateReplacesEmptyName(t *testing.T) {
	for kind, want := range map[string]string{
		"Mesh": "x", "VirtualNode": "x_ns", "VirtualService": "x.ns", "VirtualRouter": "x_ns", "VirtualGateway": "x_ns", "GatewayRoute": "x_ns",
	} {
		o := object(t, kind, `{awsName: ""}`)
		o.SetLabels(newMeta.Labels)
		if err := appmesh.DefaultCreate(o, surroundings()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if got := awsName(o); got == nil || *got != want {
			t.Errorf("%s: got %v, want %q", kind, got, want)
		}
		emptied := object(t, kind, `{awsName: ""}`)
		appmesh.DefaultUpdate(emptied, surroundings())
		before := object(t, kind, `{awsName: "`+want+`"}`)
		if err := appmesh.ValidateUpdate(before, emptied); err == nil || !names(err.Error(), "spec.awsName") {
			t.Errorf("%s: the name was taken away: %v", kind, err)
		}
		if err := appmesh.ValidateUpdate(before, before); err != nil {
			t.Errorf("%s: the name stays: %v", kind, err)
		}
	}
}

func TestDefaultCreateDenies(t *testing.T) {
	set := &api.MeshReference{Name: "m", UID: "uid-of-m"}
	twoMeshes, noMesh, ending := surroundings(), surroundings(), surroundings()
	twoGateways, noGateway := surroundings(), surroundings()
	twoMeshes.Meshes[1].Spec.NamespaceSelector = labeled()
	noMesh.NamespaceLabels = nil
	ending.Meshes[0].DeletionTimestamp = new(metav1.NewTime(someTime))
	twoGateways.Gateways[1].Spec.GatewayRouteSelector = nil
	noGateway.Gateways = noGateway.Gateways[2:]
	stranger := metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: map[string]string{"gw": "stranger"}}
	for want, c := range map[string]struct {
		object client.Object
		s      appmesh.ValidationContext
	}{
		"failed to find matching mesh for namespace: ns, expecting 1 but found 0":                                {&api.VirtualNode{ObjectMeta: newMeta}, noMesh},
		"found multiple matching meshes for namespace: ns, expecting 1 but found 2: m,nothing":                   {&api.VirtualNode{ObjectMeta: newMeta}, twoMeshes},
		"unable to create new content in mesh m because it is being terminated":                                  {&api.VirtualNode{ObjectMeta: newMeta}, ending},
		"VirtualNode create may not specify read-only field: spec.meshRef":                                       {&api.VirtualNode{ObjectMeta: newMeta, Spec: api.VirtualNodeSpec{MeshRef: set}}, surroundings()},
		"VirtualService create may not specify read-only field: spec.meshRef":                                    {&api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{MeshRef: set}}, surroundings()},
		"VirtualRouter create may not specify read-only field: spec.meshRef":                                     {&api.VirtualRouter{ObjectMeta: newMeta, Spec: api.VirtualRouterSpec{MeshRef: set}}, surroundings()},
		"VirtualGateway create may not specify read-only field: spec.meshRef":                                    {&api.VirtualGateway{ObjectMeta: newMeta, Spec: api.VirtualGatewaySpec{MeshRef: set}}, surroundings()},
		"GatewayRoute create may not specify read-only field: spec.meshRef":                                      {&api.GatewayRoute{ObjectMeta: newMeta, Spec: api.GatewayRouteSpec{MeshRef: set}}, surroundings()},
		"BackendGroup create may not specify read-only field: spec.meshRef":                                      {&api.BackendGroup{ObjectMeta: newMeta, Spec: api.BackendGroupSpec{MeshRef: set}}, surroundings()},
		"GatewayRoute create may not specify read-only field: spec.virtualGatewayRef":                            {&api.GatewayRoute{ObjectMeta: newMeta, Spec: api.GatewayRouteSpec{VirtualGatewayRef: &api.VirtualGatewayReference{Name: "g"}}}, surroundings()},
		"failed to find matching virtualGateway for gatewayRoute: x, expecting 1 but found 0":                    {&api.GatewayRoute{ObjectMeta: newMeta}, noGateway},
		"found multiple matching virtualGateways for gatewayRoute: x, expecting 1 but found 2: labeled,stranger": {&api.GatewayRoute{ObjectMeta: newMeta}, twoGateways},
		"virtualGateway referenced does not belong to the mesh referenced in GatewayRoute Create":                {&api.GatewayRoute{ObjectMeta: stranger}, surroundings()},
	} {
		err := appmesh.DefaultCreate(c.object, c.s)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestDefaultIPFamily is the one default of updates too: a Mesh's preference is that of the cluster.
func TestDefaultIPFamily(t *testing.T) {
	for name, c := range map[string]struct {
		stated *api.IPPreference
		ipv6   bool
		want   *api.IPPreference
	}{
		"absent on IPv4": {nil, false, nil},
		"absent on IPv6": {nil, true, new(api.IPv6Only)},
		"IPv6 on IPv4":   {new(api.IPv6Only), false, new(api.IPv4Only)},
		"IPv4 on IPv6":   {new(api.IPv4Only), true, new(api.IPv6Only)},
		"IPv6 on IPv6":   {new(api.IPv6Only), true, new(api.IPv6Only)},
		"IPv4 on IPv4":   {new(api.IPv4Only), false, new(api.IPv4Only)},
	} {
		mesh := &api.Mesh{}
		if c.stated != nil {
			mesh.Spec.MeshServiceDiscovery = &api.MeshServiceDiscovery{IPPreference: c.stated}
		}
		s := appmesh.ValidationContext{IPv6: c.ipv6}
		created := mesh.DeepCopy()
		appmesh.DefaultUpdate(mesh, s)
		if err := appmesh.DefaultCreate(created, s); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*api.Mesh{mesh, created} {
			var got *api.IPPreference
			if m.Spec.MeshServiceDiscovery != nil {
				got = m.Spec.MeshServiceDiscovery.IPPreference
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestDefaultUpdateChangesOnlyIPFamily(t *testing.T) {
	node := &api.VirtualNode{ObjectMeta: newMeta}
	appmesh.DefaultUpdate(node, surroundings())
	if node.Spec.AWSName != nil || node.Spec.MeshRef != nil {
		t.Errorf("got %+v, want the object as it was", node.Spec)
	}
}

// TestDefaultWithGenerateName: with generateName the name is not known yet, and half a name would be the same for all.
func TestDefaultWithGenerateName(t *testing.T) {
	for want, o := range map[string]client.Object{
		"x-7k2vq":    &api.Mesh{},
		"x-7k2vq_ns": &api.VirtualNode{},
		"x-7k2vq.ns": &api.VirtualService{},
	} {
		o.SetNamespace("ns")
		o.SetGenerateName("x-")
		if err := appmesh.DefaultCreate(o, surroundings()); err != nil {
			t.Fatal(err)
		}
		if name := awsName(o); name != nil {
			t.Errorf("%T: awsName is %q before there is a name", o, *name)
		}
		o.SetName("x-7k2vq") // as the API server does after admission
		if got := appmesh.AWSName(o); got != want {
			t.Errorf("%T is read as %q, want %q", o, got, want)
		}
	}
	node := &api.VirtualNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", GenerateName: "x-"},
		Spec:       api.VirtualNodeSpec{AWSName: new("mine")},
	}
	if err := appmesh.DefaultCreate(node, surroundings()); err != nil || *node.Spec.AWSName != "mine" {
		t.Errorf("a name that was given: %v %v", node.Spec.AWSName, err)
	}
}

func awsName(o client.Object) *string {
	switch o := o.(type) {
	case *api.Mesh:
		return o.Spec.AWSName
	case *api.VirtualNode:
		return o.Spec.AWSName
	case *api.VirtualService:
		return o.Spec.AWSName
	case *api.VirtualRouter:
		return o.Spec.AWSName
	case *api.VirtualGateway:
		return o.Spec.AWSName
	case *api.GatewayRoute:
		return o.Spec.AWSName
	}
	return nil
}
