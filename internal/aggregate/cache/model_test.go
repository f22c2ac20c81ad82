package cache_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// After any sequence of changes and faults, the store of each informer equals the union of the members. Clients that
// resume from each bookmark, and lists of pages, have the state of the members at each version that they get. The
// number of steps is ANYMESH_MODEL_STEPS.
func TestInformersEqualTheUnion(t *testing.T) {
	steps := environment("ANYMESH_MODEL_STEPS", 150)
	seed := environment("ANYMESH_MODEL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("ANYMESH_MODEL_STEPS=%d ANYMESH_MODEL_SEED=%d", steps, seed)
	m := newModel(t, seed)
	began := time.Now()
	for step := range steps {
		m.step()
		if step%25 == 24 || step == steps-1 {
			m.quiet()
		}
	}
	t.Logf("%d steps in %v: %v", steps, time.Since(began).Round(time.Second), m.count)
}

func environment(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// model is the state of the world: members, two replicas, and clients at two addresses, of which one is slow at times.
type model struct {
	t       *testing.T
	random  *rand.Rand
	options cache.Options
	// world has the members and what replicas know of them.
	world    *fleet
	replicas []*fleet
	fronts   []*front
	// epoch is the version of the next restored backup, lower than all versions so far.
	epoch     uint64
	oracle    *oracle
	informers []informer
	journals  []*journal
	pager     *pager
	log       []string
	count     map[string]int
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, random: rand.New(rand.NewPCG(seed, 0)), epoch: 1 << 40, count: map[string]int{}}
	m.options = fast
	m.options.WindowEvents = 40 // Small, so that watches are late.
	m.options.WaitTimeout = 500 * time.Millisecond
	m.options.RequestTimeout, m.options.IdleTimeout = 500*time.Millisecond, 1200*time.Millisecond
	if m.random.IntN(2) == 0 {
		m.options.Grace = 300 * time.Millisecond
	}
	m.world = newFleet(t, 3, m.options)
	m.replicas = []*fleet{m.world, m.world.another(m.options)}
	m.oracle = &oracle{members: m.world.members, identities: map[string][]string{}}
	for i, member := range m.world.members {
		member.Restore(m.next())
		m.oracle.know(i, m.world.identities[i])
	}
	for range 2 {
		m.fronts = append(m.fronts, newFront(t, m.replicas[0]))
	}
	m.replicas[1].configure()
	for i, f := range m.fronts {
		client := f.client()
		for _, v := range views {
			m.informers = append(m.informers, startInformer(t, client, v, true), startInformer(t, client, v, false))
			j := &journal{name: fmt.Sprintf("address %d, %+v", i, v), client: client, view: v, oracle: m.oracle}
			m.journals = append(m.journals, j)
			go j.run(t.Context())
		}
	}
	m.pager = &pager{client: m.fronts[0].client(), oracle: m.oracle, count: m.count}
	return m
}

func (m *model) next() uint64 {
	m.epoch -= 1 << 20
	return m.epoch
}

// step changes something.
func (m *model) step() {
	i := m.random.IntN(len(m.world.members))
	member := m.world.members[i]
	action := m.random.IntN(1000)
	note := func(what string) {
		m.count[what]++
		m.log = append(m.log, fmt.Sprintf("%s c%d", what, i+1))
	}
	switch {
	case action < 520:
		note("change")
		m.change(i)
	case action < 540:
		note("advance")
		member.Advance()
	case action < 570:
		note("close watches")
		member.CloseWatches()
	case action < 600:
		note("compact")
		member.Compact()
	case action < 615:
		note("compact and close")
		member.Compact()
		member.CloseWatches()
	case action < 625:
		note("restart member")
		member.Restart()
	case action < 710:
		note("faults")
		member.Set(m.faults())
	case action < 745:
		note("no faults")
		member.Set(membertest.Faults{})
	case action < 820:
		m.reconfigure(i, note)
	case action < 830:
		note("restored backup")
		member.Restore(m.next(), m.podName(i), m.podName(i))
	case action < 845:
		note("burst")
		for range 60 { // More than the window.
			m.change(i)
		}
	case action < 890:
		note("move")
		m.fronts[m.random.IntN(2)].point(m.replicas[m.random.IntN(2)])
	case action < 910:
		note("restart replica")
		m.restart(m.random.IntN(2))
	case action < 935:
		note("slow")
		m.fronts[1].hold()
	case action < 950:
		note("not slow")
		m.fronts[1].release()
	default:
		note("pages")
		m.pages()
	}
	if m.random.IntN(3) == 0 {
		time.Sleep(time.Duration(m.random.IntN(20)) * time.Millisecond)
	}
}

// podName returns namespace/name. Pods of different clusters have different names.
func (m *model) podName(i int) string {
	namespace := []string{"default", "other"}[m.random.IntN(2)]
	return fmt.Sprintf("%s/%c%d-c%d", namespace, 'a'+rune(m.random.IntN(2)), m.random.IntN(6), i+1)
}

// change creates, changes or deletes a pod.
func (m *model) change(i int) {
	key := m.podName(i)
	namespace, name := cutKey(key)
	if m.random.IntN(3) == 0 {
		m.world.members[i].Delete(podPath, namespace, name)
		return
	}
	o := pod(name, fmt.Sprint("n", m.random.IntN(2)))
	metadata := o["metadata"].(membertest.Object)
	metadata["namespace"] = namespace
	metadata["uid"] = fmt.Sprintf("uid-%s-%d", name, m.random.IntN(2)) // Recreated pods have another one.
	if m.random.IntN(4) == 0 {
		metadata["labels"] = membertest.Object{"app": "other"}
	}
	m.world.members[i].Put(podPath, o)
}

func (m *model) faults() membertest.Faults {
	switch m.random.IntN(6) {
	case 0:
		return membertest.Faults{Unreachable: true}
	case 1:
		return membertest.Faults{Silent: true}
	}
	sometimes := func() bool { return m.random.IntN(5) == 0 }
	return membertest.Faults{
		Gone: sometimes(), Truncate: sometimes(), NoBookmarks: sometimes() || sometimes(),
		Repeat: max(m.random.IntN(6)-2, 0), Delay: time.Duration(m.random.IntN(15)) * time.Millisecond,
	}
}

// reconfigure changes what the replicas know of a member. One of them may be late.
func (m *model) reconfigure(i int, note func(string)) {
	switch n := m.random.IntN(5); {
	case n < 3:
		note("join or leave")
		m.world.joined[i] = !m.world.joined[i]
	case n == 3:
		note("rebuilt")
		m.world.identities[i] += "x"
		m.oracle.know(i, m.world.identities[i])
	default:
		note("namespaces")
		m.world.scopes[i] = scopes[m.random.IntN(len(scopes))]
	}
	for _, r := range m.replicas {
		if m.random.IntN(4) > 0 {
			r.configure()
		}
	}
}

// restart replaces a replica by one that knows nothing. Its clients are not told.
func (m *model) restart(i int) {
	old := m.replicas[i]
	m.replicas[i] = old.another(m.options)
	m.replicas[i].configure()
	for _, f := range m.fronts {
		f.replace(old, m.replicas[i])
	}
	old.Close()
}

// pages reads a list while pods change, and clients move.
func (m *model) pages() {
	between := func() {
		for range m.random.IntN(4) {
			m.change(m.random.IntN(len(m.world.members)))
		}
		if m.random.IntN(4) == 0 {
			m.fronts[0].point(m.replicas[m.random.IntN(2)])
		}
	}
	if err := m.pager.read(m.t.Context(), int64(1+m.random.IntN(6)), between); err != nil {
		m.fail(err)
	}
}

// quiet ends the faults, and waits until all replicas and clients have the union.
func (m *model) quiet() {
	m.t.Helper()
	for _, member := range m.world.members {
		member.Set(membertest.Faults{})
	}
	m.fronts[1].release()
	for _, r := range m.replicas {
		r.configure()
	}
	for _, r := range m.replicas {
		r.synced()
	}
	for _, i := range m.informers {
		m.eventually(func() error { return equal("informer "+i.name, i.state(), m.union(i.view)) })
	}
	for _, j := range m.journals {
		m.eventually(func() error { return j.has(m.union(j.view)) })
	}
}

func (m *model) eventually(check func() error) {
	m.t.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	for _, j := range m.journals {
		err = errors.Join(err, j.violation())
	}
	m.fail(err)
}

func (m *model) fail(err error) {
	m.t.Helper()
	m.t.Fatalf("%v\nafter %v", err, m.log[max(len(m.log)-60, 0):])
}
