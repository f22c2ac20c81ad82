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

// apiServer keeps objects as an API server with our admission and our status writer does. After each event, what the
// flow made of it one event at a time must be what comes out when one starts afresh with the objects that there are.
type apiServer struct {
	t       *testing.T
	dialect appmesh.Dialect
	flow    *engine.Engine
	random  *rand.Rand
	clock   time.Time
	ipv6    bool
	lives   int
	objects map[string]client.Object
	// manifests are the objects as their users have them: without what only the API server, admission and controllers
	// write.
	manifests map[string]client.Object
}

// newAPIServer applies what users have of objects, from old to young, but at first what others are designated to.
// Without admission, and where it refuses, objects come in as they are.
func newAPIServer(t *testing.T, settings appmesh.Settings, seed uint64, admitted bool,
	objects []client.Object) *apiServer {
	t.Helper()
	d := appmesh.Dialect{Settings: settings}
	s := &apiServer{
		t: t, dialect: d, flow: engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{d}),
		random: rand.New(rand.NewPCG(seed, 7)),
		clock:  someTime, objects: map[string]client.Object{}, manifests: map[string]client.Object{},
	}
	for _, o := range objects {
		s.objects[nameOf(o)], s.manifests[nameOf(o)] = o, manifest(o)
		if mesh, is := o.(*api.Mesh); is && mesh.Spec.MeshServiceDiscovery != nil {
			p := mesh.Spec.MeshServiceDiscovery.IPPreference
			s.ipv6 = p != nil && *p == api.IPv6Only // as it is all over the cluster
		}
	}
	order := s.byAge(func(client.Object) bool { return true })
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	clear(s.objects)
	for _, name := range order {
		if !admitted || s.create(name) != nil {
			s.createUnadmitted(name)
		}
	}
	s.settle()
	return s
}

// rank tells what comes before what is designated to it.
func rank(name string) int {
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
		return out // what kubelet will say of the next one is the same
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

// delete removes an object.
func (s *apiServer) delete(name string) {
	s.flow.Delete(s.objects[name])
	delete(s.objects, name)
}

// create applies an object's manifest: it becomes the youngest of all, with a uid of its own, and admission has written
// into it. The error is admission's refusal.
func (s *apiServer) create(name string) error {
	o := s.manifests[name].DeepCopyObject().(client.Object)
	if !isKubernetes(o) {
		if err := appmesh.DefaultCreate(o, s.surroundings(o)); err != nil {
			return err
		}
	}
	s.put(o)
	return nil
}

// createUnadmitted is create while admission is away.
func (s *apiServer) createUnadmitted(name string) {
	s.put(s.manifests[name].DeepCopyObject().(client.Object))
}

func (s *apiServer) put(o client.Object) {
	s.lives++
	s.clock = s.clock.Add(time.Second)
	o.SetUID(types.UID(fmt.Sprintf("uid of %s, life %d", nameOf(o), s.lives)))
	o.SetCreationTimestamp(metav1.NewTime(s.clock))
	s.objects[nameOf(o)] = o
	s.flow.Set(o)
}

// again deletes objects and creates them again, one after the other. Between the two, the control plane may or may not
// get to look.
func (s *apiServer) again(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.delete(name)
		if s.random.IntN(2) == 0 {
			s.settle()
		}
		if err := s.create(name); err != nil {
			s.createUnadmitted(name)
		}
		s.settle()
	}
}

func (s *apiServer) surroundings(o client.Object) appmesh.ValidationContext {
	around := appmesh.ValidationContext{NamespaceLabels: map[string]string{}, IPv6: s.ipv6}
	for _, other := range s.list() {
		switch other := other.(type) {
		case *corev1.Namespace:
			if other.Name == o.GetNamespace() {
				around.NamespaceLabels = other.Labels
			}
		case *api.Mesh:
			around.Meshes = append(around.Meshes, other)
		case *api.VirtualGateway:
			around.Gateways = append(around.Gateways, other)
		}
	}
	return around
}

// settle has the control plane look and write statuses; it must agree with one that starts afresh.
func (s *apiServer) settle() {
	s.t.Helper()
	s.flow.Sync()
	objects := s.list()
	live, afresh := s.flow.State(), engine.Compute([]dialect.Dialect{s.dialect}, objects)
	if a, b := afresh.Index.Model, live.Index.Model; !reflect.DeepEqual(a, b) {
		s.t.Fatalf("models differ (-afresh +incremental):\n%s",
			gocmp.Diff(string(asYAML(s.t, a)), string(asYAML(s.t, b))))
	}
	if a, b := afresh.Findings, live.Findings; !slices.Equal(a, b) {
		s.t.Fatalf("findings differ (-afresh +incremental):\n%s", gocmp.Diff(a, b))
	}
	status := s.dialect.Statuses(objects, live.Findings)
	for name, o := range s.objects {
		s.objects[name] = status(o, someTime)
	}
}

// list gives the objects in random order.
func (s *apiServer) list() []client.Object {
	out := slices.Collect(maps.Values(s.objects))
	s.random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// byAge lists the objects that pick is true of, from old to young.
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

// lives are what is different in uids from life to life.
var lives = regexp.MustCompile(`, life \d+`)

// outcome is all that users and sidecars see: the model, the findings, and each object's status. Uids are as in the
// first life.
func (s *apiServer) outcome() string {
	state := s.flow.State()
	statuses := map[string]any{}
	for name, o := range s.objects {
		if !isKubernetes(o) {
			statuses[name] = reflect.ValueOf(o).Elem().FieldByName("Status").Interface()
		}
	}
	text := asYAML(s.t, map[string]any{"model": state.Index.Model, "findings": state.Findings, "statuses": statuses})
	return lives.ReplaceAllString(string(text), "")
}

// says lists what users are told about an object, as "Severity Code path".
func (s *apiServer) says(name string) []string {
	var out []string
	for _, f := range s.flow.State().Findings {
		if strings.HasPrefix(name, f.Object.Kind+" ") &&
			nameOf(s.objects[name]) == fmt.Sprintf("%s %s/%s", f.Object.Kind, f.Object.Namespace, f.Object.Name) {
			out = append(out, fmt.Sprintf("%s %s %s", f.Severity, f.Code, f.Path))
		}
	}
	return out
}

// contends tells whether an object wants something that another one has as well, which age decides.
func (s *apiServer) contends(name string) bool {
	return slices.ContainsFunc(s.says(name), func(said string) bool {
		code := model.Code(strings.Fields(said)[1])
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

// recorded tells whether admission wrote into an object what Mesh it belongs to.
func recorded(o client.Object) bool { return recordOf(o) != nil }

// stranded tells whether an object is of a Mesh that was, and that no other took over.
func (s *apiServer) stranded(o client.Object) bool {
	return slices.ContainsFunc(s.says(nameOf(o)), func(said string) bool {
		return strings.Contains(said, string(model.CodeMeshMismatch))
	})
}

func recordOf(o client.Object) *api.MeshReference {
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
