package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/delivery/xds/clientstatus"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/internal/pod/inject"
	"anymesh.dev/anymesh/model"
)

// syncGrace is the time that sidecars have to acknowledge a change during the check.
const syncGrace = 3 * time.Second

// startGrace is the time that a sidecar has to connect after its start, while its pod initializes.
const startGrace = 30 * time.Second

// runs reports whether a pod runs, or waits for a sidecar that had the time to connect or ended before.
func runs(p *corev1.Pod) bool {
	switch {
	case p.DeletionTimestamp != nil:
		return false
	case p.Status.Phase == corev1.PodRunning:
		return true
	case p.Status.Phase != corev1.PodPending:
		return false
	}
	agent := inject.Agent(p)
	return agent != nil && slices.ContainsFunc(p.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == agent.Name &&
			(c.RestartCount > 0 || c.State.Running != nil && time.Since(c.State.Running.StartedAt.Time) > startGrace)
	})
}

// members returns the pods of workloads that run, with and without sidecars, as NAMESPACE/NAME by UID.
func members(s *engine.State) (with, without map[string]string) {
	with, without = map[string]string{}, map[string]string{}
	for _, o := range s.Objects {
		p, is := o.(*corev1.Pod)
		if !is || !runs(p) {
			continue
		}
		if _, member := s.WorkloadOf(string(p.UID)); member {
			if inject.Agent(p) != nil {
				with[string(p.UID)] = p.Namespace + "/" + p.Name
			} else {
				without[string(p.UID)] = p.Namespace + "/" + p.Name
			}
		}
	}
	return with, without
}

func injected(ctx context.Context, c *Cluster) (string, error) {
	s, err := c.State(ctx)
	if err != nil {
		return "", err
	}
	with, without := members(s)
	driven := 0
	if len(without) > 0 {
		all, err := c.Sidecars(ctx)
		if err != nil {
			return "", err
		}
		before := len(without)
		for _, sidecar := range all {
			delete(without, sidecar.Identity) // a driver connects to its proxy
		}
		driven = before - len(without)
	}
	if len(without) > 0 {
		return "", warn("%s without a sidecar: %s", terminal.Count(len(without), "pod is", "pods are"), reasons(s, without))
	}
	return terminal.Count(len(with)+driven, "pod", "pods"), nil
}

// reasons names pods without a sidecar, by UID, with the reasons.
func reasons(s *engine.State, without map[string]string) string {
	namespaces, by := map[string]*corev1.Namespace{}, map[string]map[string]string{}
	for _, ns := range dialect.ObjectsOf[*corev1.Namespace](s.Objects) {
		namespaces[ns.Name] = ns
	}
	for _, pod := range dialect.ObjectsOf[*corev1.Pod](s.Objects) {
		name, is := without[string(pod.UID)]
		if !is {
			continue
		}
		why := ""
		if w, member := s.WorkloadOf(string(pod.UID)); member && namespaces[pod.Namespace] != nil {
			why = dialect.WithoutSidecar(s.Objects, pod, namespaces[pod.Namespace], w.Key)
		}
		why = cmp.Or(why, "created without injection")
		if by[why] == nil {
			by[why] = map[string]string{}
		}
		by[why][string(pod.UID)] = name
	}
	var out []string
	for _, why := range slices.Sorted(maps.Keys(by)) {
		out = append(out, fmt.Sprintf("%s (%s)", some(by[why]), why))
	}
	return strings.Join(out, "; ")
}

func connected(ctx context.Context, c *Cluster) (string, error) {
	s, err := c.State(ctx)
	if err != nil {
		return "", err
	}
	all, err := c.Sidecars(ctx)
	if err != nil {
		return "", err
	}
	current, err := authority(ctx, c)
	if err != nil {
		return "", err
	}
	return missing(s, all, current)
}

// missing returns an error that names pods whose sidecar is not connected, and those that trust another authority than
// the current one.
func missing(s *engine.State, all []inspect.Sidecar, current *identity.Bundle) (string, error) {
	with, without := members(s)
	total := len(with)
	others := map[string]string{}
	for _, sidecar := range all {
		if _, driven := without[sidecar.Identity]; driven {
			total++
		} else if _, member := with[sidecar.Identity]; !member {
			others[sidecar.Identity] = cmp.Or(sidecar.Pod, "an unknown pod")
		}
		delete(with, sidecar.Identity)
	}
	if len(with) > 0 {
		text := fmt.Sprintf("%d of %d sidecars are not connected: %s", len(with), total, some(with))
		if foreign := foreignRoots(s, with, current); len(foreign) > 0 {
			text += fmt.Sprintf("; another authority: restart these workloads, which trust that of an earlier installation: %s",
				some(foreign))
		}
		return "", errors.New(text)
	}
	detail := fmt.Sprintf("%d of %d", total, total)
	if len(others) > 0 {
		detail += fmt.Sprintf(", and %d of pods of no workload: %s", len(others), some(others))
	}
	return detail, nil
}

// foreignRoots returns those of the pods that were injected with roots of which none is in the bundle.
func foreignRoots(s *engine.State, pods map[string]string, current *identity.Bundle) map[string]string {
	out := map[string]string{}
	for _, o := range s.Objects {
		if p, is := o.(*corev1.Pod); is && pods[string(p.UID)] != "" && foreign(p, current) {
			out[string(p.UID)] = pods[string(p.UID)]
		}
	}
	return out
}

func foreign(p *corev1.Pod, current *identity.Bundle) bool {
	injected, err := identity.ParseBundle(inject.Roots(p))
	return err == nil && !slices.ContainsFunc(injected.Roots(), current.Contains)
}

// ForeignAuthority names the pods of the cluster that trust an authority of an earlier installation only; "" for none.
// They get no changes.
func ForeignAuthority(ctx context.Context, c *Cluster) (string, error) {
	current, err := authority(ctx, c)
	if err != nil {
		return "", err
	}
	var pods corev1.PodList
	if err := c.Client.List(ctx, &pods); err != nil {
		return "", fmt.Errorf("pods that trust another authority: %w", err)
	}
	out := map[string]string{}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.DeletionTimestamp == nil && foreign(p, current) {
			out[string(p.UID)] = p.Namespace + "/" + p.Name
		}
	}
	if len(out) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s the authority of an earlier installation, and get no changes; restart their workloads: %s",
		terminal.Count(len(out), "pod trusts", "pods trust"), some(out)), nil
}

// synced polls for up to syncGrace, because changes can be in flight.
func synced(ctx context.Context, c *Cluster) (string, error) {
	deadline := time.Now().Add(syncGrace)
	for {
		all, err := c.Sidecars(ctx)
		if err != nil {
			return "", err
		}
		if err := outOfSync(all); err == nil || inspect.AnyRejected(all) || time.Now().After(deadline) {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// outOfSync returns an error that names sidecars that are not in sync.
func outOfSync(all []inspect.Sidecar) error {
	var outdated []string
	for _, sidecar := range all {
		i := slices.IndexFunc(sidecar.Types, func(t clientstatus.ClientType) bool {
			return inspect.StateOf(t) != inspect.Synced
		})
		if i < 0 {
			continue
		}
		t := sidecar.Types[i]
		text := fmt.Sprintf("%s: %s", sidecar.Pod, inspect.StateOf(t))
		if inspect.StateOf(t) == inspect.Rejected {
			text += " " + strings.Join(t.LastNack.Names, ", ") + ": " + t.LastNack.Message
		}
		outdated = append(outdated, text)
	}
	if len(outdated) > 0 {
		return errors.New(strings.Join(outdated, "; "))
	}
	return nil
}

func served(ctx context.Context, c *Cluster) (string, error) {
	s, err := c.State(ctx)
	if err != nil {
		return "", err
	}
	return countFindings(s.Findings)
}

// countFindings returns a warning with the number of findings per object.
func countFindings(all []model.Finding) (string, error) {
	kinds := dialect.KindNamesOfFindings(slices.Values(all))
	count := map[string]int{}
	errs := 0
	for _, f := range all {
		count[kinds.Object(f.Object)]++
		if f.Severity == model.Error {
			errs++
		}
	}
	if len(all) == 0 {
		return "no findings", nil
	}
	var texts []string
	for _, object := range slices.Sorted(maps.Keys(count)) {
		texts = append(texts, fmt.Sprintf("%s (%d)", object, count[object]))
	}
	return "", warn("%s, %s: %s", terminal.Count(errs, "error", "errors"),
		terminal.Count(len(all)-errs, "warning", "warnings"), strings.Join(texts, ", "))
}

// some lists up to five names.
func some(all map[string]string) string {
	const most = 5
	names := slices.Sorted(maps.Values(all))
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}
