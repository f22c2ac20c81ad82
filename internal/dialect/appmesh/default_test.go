package appmesh_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

func validationContext() appmesh.ValidationContext {
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
			gateway("otherMesh", labeled("mesh=m"), labeled("gw=otherMesh"),
				api.MeshReference{Name: "m", UID: "another"}),
			gateway("nothing", nil, nil, api.MeshReference{Name: "m", UID: "uid-of-m"}),
		},
	}
}

var newMeta = metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: map[string]string{"gw": "labeled"}}

// finalized is newMeta with a finalizer.
func finalized(finalizer string) metav1.ObjectMeta {
	out := newMeta
	out.Finalizers = []string{finalizer}
	return out
}

func TestDefaultCreate(t *testing.T) {
	mesh := &api.MeshReference{Name: "m", UID: "uid-of-m"}
	for name, c := range map[string]struct{ object, want client.Object }{
		"Mesh":           {&api.Mesh{ObjectMeta: newMeta}, &api.Mesh{ObjectMeta: finalized(api.FinalizerMeshMembers), Spec: api.MeshSpec{AWSName: new("x")}}},
		"VirtualNode":    {&api.VirtualNode{ObjectMeta: newMeta}, &api.VirtualNode{ObjectMeta: newMeta, Spec: api.VirtualNodeSpec{AWSName: new("x_ns"), MeshRef: mesh}}},
		"VirtualService": {&api.VirtualService{ObjectMeta: newMeta}, &api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("x.ns"), MeshRef: mesh}}},
		"VirtualRouter":  {&api.VirtualRouter{ObjectMeta: newMeta}, &api.VirtualRouter{ObjectMeta: newMeta, Spec: api.VirtualRouterSpec{AWSName: new("x_ns"), MeshRef: mesh}}},
		"VirtualGateway": {&api.VirtualGateway{ObjectMeta: newMeta}, &api.VirtualGateway{ObjectMeta: finalized(api.FinalizerVirtualGatewayMembers), Spec: api.VirtualGatewaySpec{AWSName: new("x_ns"), MeshRef: mesh}}},
		"GatewayRoute": {&api.GatewayRoute{ObjectMeta: newMeta}, &api.GatewayRoute{ObjectMeta: newMeta, Spec: api.GatewayRouteSpec{
			AWSName: new("x_ns"), MeshRef: mesh,
			VirtualGatewayRef: &api.VirtualGatewayReference{Namespace: new("gws"), Name: "labeled", UID: "uid-of-gw"},
		}}},
		"BackendGroup": {&api.BackendGroup{ObjectMeta: newMeta}, &api.BackendGroup{ObjectMeta: newMeta, Spec: api.BackendGroupSpec{MeshRef: mesh}}},
		"empty awsName": {
			&api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("")}},
			&api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("x.ns"), MeshRef: mesh}},
		},
		"explicit awsName": {
			&api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("www.example.com")}},
			&api.VirtualService{
				ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{AWSName: new("www.example.com"), MeshRef: mesh},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := appmesh.DefaultCreate(c.object, validationContext()); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, c.object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An empty awsName is replaced when an object is created. An update sets no default, so that removing the name is a
// change.
func TestDefaultCreateReplacesEmptyName(t *testing.T) {
	for kind, want := range map[string]string{
		"Mesh": "x", "VirtualNode": "x_ns", "VirtualService": "x.ns", "VirtualRouter": "x_ns", "VirtualGateway": "x_ns", "GatewayRoute": "x_ns",
	} {
		t.Run(kind, func(t *testing.T) {
			o := object(t, kind, `{awsName: ""}`)
			o.SetLabels(newMeta.Labels)
			if err := appmesh.DefaultCreate(o, validationContext()); err != nil {
				t.Error(err)
			}
			if got := awsName(o); got == nil || *got != want {
				t.Errorf("got %v, want %q", got, want)
			}
			emptied := object(t, kind, `{awsName: ""}`)
			appmesh.DefaultUpdate(emptied, validationContext())
			before := object(t, kind, `{awsName: "`+want+`"}`)
			if err := appmesh.ValidateUpdate(before, emptied); err == nil || !containsPath(err.Error(), "spec.awsName") {
				t.Errorf("the name was removed: %v", err)
			}
			if err := appmesh.ValidateUpdate(before, before); err != nil {
				t.Errorf("unchanged name: %v", err)
			}
		})
	}
}

func TestDefaultCreateDenies(t *testing.T) {
	set := &api.MeshReference{Name: "m", UID: "uid-of-another"}
	twoMeshes, noMesh, ending := validationContext(), validationContext(), validationContext()
	twoGateways, noGateway := validationContext(), validationContext()
	twoMeshes.Meshes[1].Spec.NamespaceSelector = labeled()
	noMesh.NamespaceLabels = nil
	ending.Meshes[0].DeletionTimestamp = new(metav1.NewTime(someTime))
	twoGateways.Gateways[1].Spec.GatewayRouteSelector = nil
	noGateway.Gateways = noGateway.Gateways[2:]
	otherMesh := metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: map[string]string{"gw": "otherMesh"}}
	for want, c := range map[string]struct {
		object client.Object
		s      appmesh.ValidationContext
	}{
		"failed to find matching mesh for namespace: ns, expecting 1 but found 0":                                 {&api.VirtualNode{ObjectMeta: newMeta}, noMesh},
		"found multiple matching meshes for namespace: ns, expecting 1 but found 2: m,nothing":                    {&api.VirtualNode{ObjectMeta: newMeta}, twoMeshes},
		"unable to create new content in mesh m because it is being terminated":                                   {&api.VirtualNode{ObjectMeta: newMeta}, ending},
		"VirtualNode create may not specify read-only field: spec.meshRef":                                        {&api.VirtualNode{ObjectMeta: newMeta, Spec: api.VirtualNodeSpec{MeshRef: set}}, validationContext()},
		"VirtualService create may not specify read-only field: spec.meshRef":                                     {&api.VirtualService{ObjectMeta: newMeta, Spec: api.VirtualServiceSpec{MeshRef: set}}, validationContext()},
		"VirtualRouter create may not specify read-only field: spec.meshRef":                                      {&api.VirtualRouter{ObjectMeta: newMeta, Spec: api.VirtualRouterSpec{MeshRef: set}}, validationContext()},
		"VirtualGateway create may not specify read-only field: spec.meshRef":                                     {&api.VirtualGateway{ObjectMeta: newMeta, Spec: api.VirtualGatewaySpec{MeshRef: set}}, validationContext()},
		"GatewayRoute create may not specify read-only field: spec.meshRef":                                       {&api.GatewayRoute{ObjectMeta: newMeta, Spec: api.GatewayRouteSpec{MeshRef: set}}, validationContext()},
		"BackendGroup create may not specify read-only field: spec.meshRef":                                       {&api.BackendGroup{ObjectMeta: newMeta, Spec: api.BackendGroupSpec{MeshRef: set}}, validationContext()},
		"GatewayRoute create may not specify read-only field: spec.virtualGatewayRef":                             {&api.GatewayRoute{ObjectMeta: newMeta, Spec: api.GatewayRouteSpec{VirtualGatewayRef: &api.VirtualGatewayReference{Name: "g"}}}, validationContext()},
		"failed to find matching virtualGateway for gatewayRoute: x, expecting 1 but found 0":                     {&api.GatewayRoute{ObjectMeta: newMeta}, noGateway},
		"found multiple matching virtualGateways for gatewayRoute: x, expecting 1 but found 2: labeled,otherMesh": {&api.GatewayRoute{ObjectMeta: newMeta}, twoGateways},
		"virtualGateway referenced does not belong to the mesh referenced in GatewayRoute Create":                 {&api.GatewayRoute{ObjectMeta: otherMesh}, validationContext()},
	} {
		t.Run(want, func(t *testing.T) {
			err := appmesh.DefaultCreate(c.object, c.s)
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// An object that kubectl printed is created again, as it names the Mesh and the VirtualGateway that it gets.
func TestDefaultCreateAcceptsEqualReferences(t *testing.T) {
	for _, object := range []client.Object{
		&api.VirtualNode{}, &api.VirtualService{}, &api.VirtualRouter{}, &api.VirtualGateway{}, &api.GatewayRoute{},
		&api.BackendGroup{},
	} {
		object.SetNamespace(newMeta.Namespace)
		object.SetName(newMeta.Name)
		object.SetLabels(newMeta.Labels)
		if err := appmesh.DefaultCreate(object, validationContext()); err != nil {
			t.Fatal(err)
		}
		again := object.DeepCopyObject().(client.Object)
		if err := appmesh.DefaultCreate(again, validationContext()); err != nil || cmp.Diff(object, again) != "" {
			t.Errorf("%T created again: %v, %s", object, err, cmp.Diff(object, again))
		}
	}
}

// A Mesh without IP preference gets IPv6 on IPv6 clusters, also by updates. What the user wrote is kept.
func TestDefaultIPFamily(t *testing.T) {
	for name, c := range map[string]struct {
		preference *api.IPPreference
		ipv6       bool
		want       *api.IPPreference
	}{
		"absent on IPv4": {nil, false, nil},
		"absent on IPv6": {nil, true, new(api.IPv6Only)},
		"IPv6 on IPv4":   {new(api.IPv6Only), false, new(api.IPv6Only)},
		"IPv4 on IPv6":   {new(api.IPv4Only), true, new(api.IPv4Only)},
		"IPv6 on IPv6":   {new(api.IPv6Only), true, new(api.IPv6Only)},
		"IPv4 on IPv4":   {new(api.IPv4Only), false, new(api.IPv4Only)},
	} {
		t.Run(name, func(t *testing.T) {
			mesh := &api.Mesh{}
			if c.preference != nil {
				mesh.Spec.MeshServiceDiscovery = &api.MeshServiceDiscovery{IPPreference: c.preference}
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
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestDefaultUpdateChangesOnlyIPFamily(t *testing.T) {
	node := &api.VirtualNode{ObjectMeta: newMeta}
	appmesh.DefaultUpdate(node, validationContext())
	if node.Spec.AWSName != nil || node.Spec.MeshRef != nil {
		t.Errorf("got %+v, want no change", node.Spec)
	}
}

// With generateName the name is not known at admission.
func TestDefaultWithGenerateName(t *testing.T) {
	for want, o := range map[string]client.Object{
		"x-7k2vq":    &api.Mesh{},
		"x-7k2vq_ns": &api.VirtualNode{},
		"x-7k2vq.ns": &api.VirtualService{},
	} {
		t.Run(want, func(t *testing.T) {
			o.SetNamespace("ns")
			o.SetGenerateName("x-")
			if err := appmesh.DefaultCreate(o, validationContext()); err != nil {
				t.Fatal(err)
			}
			if name := awsName(o); name != nil {
				t.Errorf("%T: awsName is %q without a name", o, *name)
			}
			o.SetName("x-7k2vq") // as the API server does after admission
			if got := appmesh.AWSName(o); got != want {
				t.Errorf("%T: name %q, want %q", o, got, want)
			}
		})
	}
	node := &api.VirtualNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", GenerateName: "x-"},
		Spec:       api.VirtualNodeSpec{AWSName: new("mine")},
	}
	if err := appmesh.DefaultCreate(node, validationContext()); err != nil || *node.Spec.AWSName != "mine" {
		t.Errorf("explicit name: %v %v", node.Spec.AWSName, err)
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
