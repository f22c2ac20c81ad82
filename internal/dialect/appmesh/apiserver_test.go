package appmesh_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// apiServer simulates an API server with admission, and a control plane that writes statuses. After each event, the
// incremental result must equal the result of a new evaluation of all objects.
type apiServer struct {
	t           *testing.T
	dialect     appmesh.Dialect
	engine      *engine.Engine
	random      *rand.Rand
	clock       time.Time
	ipv6        bool
	generations int
	objects     map[string]client.Object
	// manifests are the objects as users apply them: without fields that the API server, admission or controllers
	// write.
	manifests map[string]client.Object
}

// newAPIServer creates the manifests of objects from old to young, and objects that others are assigned to first.
// Without admission, or if admission denies an object, it is created unchanged.
func newAPIServer(t *testing.T, settings appmesh.Settings, seed uint64, admitted bool,
	objects []client.Object) *apiServer {
	t.Helper()
	d := appmesh.Dialect{Settings: settings}
	s := &apiServer{
		t: t, dialect: d, engine: engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{d}, engine.Settings{}),
		random: rand.New(rand.NewPCG(seed, 7)),
		clock:  someTime, objects: map[string]client.Object{}, manifests: map[string]client.Object{},
	}
	for _, o := range objects {
		s.objects[nameOf(o)], s.manifests[nameOf(o)] = o, manifest(o)
		if mesh, is := o.(*api.Mesh); is && mesh.Spec.MeshServiceDiscovery != nil {
			p := mesh.Spec.MeshServiceDiscovery.IPPreference
			s.ipv6 = p != nil && *p == api.IPv6Only // of the cluster
		}
	}
	order := s.byAge(func(client.Object) bool { return true })
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(creationOrder(a), creationOrder(b)) })
	clear(s.objects)
	for _, name := range order {
		if !admitted || s.create(name) != nil {
			s.createWithoutAdmission(name)
		}
	}
	s.sync()
	return s
}

// creationOrder sorts objects that others are assigned to first.
func creationOrder(name string) int {
	before := []string{"Namespace", "Mesh", "VirtualGateway"}
	return (slices.Index(before, kind(name)) + len(before) + 1) % (len(before) + 1)
}

func kind(name string) string { return strings.Fields(name)[0] }

func nameOf(o client.Object) string {
	return fmt.Sprintf("%s %s/%s", reflect.TypeOf(o).Elem().Name(), o.GetNamespace(), o.GetName())
}

func manifest(o client.Object) client.Object {
	out := o.DeepCopyObject().(client.Object)
	out.SetUID("")
	out.SetCreationTimestamp(metav1.Time{})
	if _, isPod := out.(*corev1.Pod); isPod {
		return out // the kubelet would write the same status again
	}
	value := reflect.ValueOf(out).Elem()
	value.FieldByName("Status").SetZero()
	for _, field := range []string{"MeshRef", "VirtualGatewayRef"} {
		if f := value.FieldByName("Spec").FieldByName(field); f.IsValid() {
			f.SetZero()
		}
	}
	return out
}

func (s *apiServer) delete(name string) {
	s.engine.Delete(s.objects[name])
	delete(s.objects, name)
}

// create creates the object of a manifest with admission. It gets a new UID and is the youngest object. The error is
// the denial.
func (s *apiServer) create(name string) error {
	o := s.manifests[name].DeepCopyObject().(client.Object)
	if !isKubernetes(o) {
		if err := appmesh.DefaultCreate(o, s.validationContext(o)); err != nil {
			return err
		}
	}
	s.put(o)
	return nil
}

// createWithoutAdmission is create while admission is unavailable.
func (s *apiServer) createWithoutAdmission(name string) {
	s.put(s.manifests[name].DeepCopyObject().(client.Object))
}

func (s *apiServer) put(o client.Object) {
	s.generations++
	s.clock = s.clock.Add(time.Second)
	o.SetUID(types.UID(fmt.Sprintf("uid of %s, generation %d", nameOf(o), s.generations)))
	o.SetCreationTimestamp(metav1.NewTime(s.clock))
	s.objects[nameOf(o)] = o
	s.engine.Set(o)
}

// recreate deletes objects and creates them again, one by one. Sometimes the control plane runs between the two.
func (s *apiServer) recreate(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.delete(name)
		if s.random.IntN(2) == 0 {
			s.sync()
		}
		if err := s.create(name); err != nil {
			s.createWithoutAdmission(name)
		}
		s.sync()
	}
}

func (s *apiServer) validationContext(o client.Object) appmesh.ValidationContext {
	out := appmesh.ValidationContext{NamespaceLabels: map[string]string{}, IPv6: s.ipv6}
	for _, other := range s.list() {
		switch other := other.(type) {
		case *corev1.Namespace:
			if other.Name == o.GetNamespace() {
				out.NamespaceLabels = other.Labels
			}
		case *api.Mesh:
			out.Meshes = append(out.Meshes, other)
		case *api.VirtualGateway:
			out.Gateways = append(out.Gateways, other)
		}
	}
	return out
}

// sync runs the control plane and writes the statuses. The result must equal that of a new evaluation.
func (s *apiServer) sync() {
	s.t.Helper()
	s.engine.Sync()
	objects := s.list()
	incremental, full := s.engine.State(), engine.Compute([]dialect.Dialect{s.dialect}, engine.Settings{}, objects)
	if a, b := full.Index.Model, incremental.Index.Model; !reflect.DeepEqual(a, b) {
		s.t.Fatalf("models differ (-full +incremental):\n%s",
			gocmp.Diff(asJSON(s.t, a), asJSON(s.t, b)))
	}
	if a, b := full.Findings, incremental.Findings; !slices.Equal(a, b) {
		s.t.Fatalf("findings differ (-full +incremental):\n%s", gocmp.Diff(a, b))
	}
	status := s.dialect.Statuses(objects, incremental.Findings)
	for name, o := range s.objects {
		s.objects[name] = status(o, someTime)
	}
}

// list returns the objects in random order.
func (s *apiServer) list() []client.Object {
	out := slices.Collect(maps.Values(s.objects))
	s.random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// byAge lists the objects for which pick is true, from old to young.
func (s *apiServer) byAge(pick func(client.Object) bool) []string {
	all := slices.DeleteFunc(s.list(), func(o client.Object) bool { return !pick(o) })
	slices.SortFunc(all, func(a, b client.Object) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
			strings.Compare(nameOf(a), nameOf(b)))
	})
	var names []string
	for _, o := range all {
		names = append(names, nameOf(o))
	}
	return names
}

// generationInUID matches the part of a UID that changes when an object is recreated.
var generationInUID = regexp.MustCompile(`, generation \d+`)

// result is the model, the findings and the status of each object. UIDs are those of the first creation.
func (s *apiServer) result() string {
	state := s.engine.State()
	statuses := map[string]any{}
	for name, o := range s.objects {
		if !isKubernetes(o) {
			statuses[name] = reflect.ValueOf(o).Elem().FieldByName("Status").Interface()
		}
	}
	text := asJSON(s.t, map[string]any{"model": state.Index.Model, "findings": state.Findings, "statuses": statuses})
	return generationInUID.ReplaceAllString(text, "")
}

// findingsOf lists the findings of an object as "Severity Code path".
func (s *apiServer) findingsOf(name string) []string {
	var out []string
	for _, f := range s.engine.State().Findings {
		if strings.HasPrefix(name, f.Object.Kind+" ") &&
			nameOf(s.objects[name]) == fmt.Sprintf("%s %s/%s", f.Object.Kind, f.Object.Namespace, f.Object.Name) {
			out = append(out, fmt.Sprintf("%s %s %s", f.Severity, f.Code, f.Path))
		}
	}
	return out
}

// hasConflict reports whether an object has a conflict with another one, which their age decides.
func (s *apiServer) hasConflict(name string) bool {
	return slices.ContainsFunc(s.findingsOf(name), func(finding string) bool {
		code := model.Code(strings.Fields(finding)[1])
		return slices.Contains([]model.Code{
			model.CodeNameConflict, model.CodeSelectorConflict, model.CodeMultipleMeshes,
		}, code)
	})
}

func isKubernetes(o client.Object) bool {
	switch o.(type) {
	case *corev1.Pod, *corev1.Namespace:
		return true
	}
	return false
}

// hasMeshRef reports whether admission recorded the Mesh of an object.
func hasMeshRef(o client.Object) bool { return meshRefOf(o) != nil }

// hasMeshMismatch reports whether the recorded Mesh of an object was deleted and not replaced.
func (s *apiServer) hasMeshMismatch(o client.Object) bool {
	return slices.ContainsFunc(s.findingsOf(nameOf(o)), func(finding string) bool {
		return strings.Contains(finding, string(model.CodeMeshMismatch))
	})
}

func meshRefOf(o client.Object) *api.MeshReference {
	if isKubernetes(o) {
		return nil
	}
	if ref := reflect.ValueOf(o).Elem().FieldByName("Spec").FieldByName("MeshRef"); ref.IsValid() {
		return ref.Interface().(*api.MeshReference)
	}
	return nil
}

func conditionsOf(o client.Object) []api.Condition {
	return reflect.ValueOf(o).Elem().FieldByName("Status").FieldByName("Conditions").Interface().([]api.Condition)
}
