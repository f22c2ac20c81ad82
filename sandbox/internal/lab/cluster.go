package lab

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"anymesh.dev/anymesh/sandbox/internal/pki"
	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// cluster runs one cluster until ctx ends or a component fails. It calls ready once.
func (in *inside) cluster(ctx context.Context, c plan.Cluster, ready func()) error {
	if err := in.keys(c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	api, err := in.supervise(ctx, cancel, c, ControlPlane)
	if err != nil {
		return err
	}
	defer api.stop()
	step := func(name string) { in.events.send(Event{Cluster: c.Name, Step: name}) }
	step("control plane")
	check, err := newCheck(in.lab, c)
	if err != nil {
		return err
	}
	if err := poll(ctx, check.api); err != nil {
		return err
	}
	step("API server")
	if in.lab.APIServerOnly {
		ready()
		<-ctx.Done()
		return context.Cause(ctx)
	}
	dns, err := in.supervise(ctx, cancel, c, DNS)
	if err != nil {
		return err
	}
	defer dns.stop()
	node, err := in.supervise(ctx, cancel, c, "node")
	if err != nil {
		return err
	}
	defer node.stop()
	// kube-proxy reads its Node and retries only after 1, 2 and 4 s.
	if err := poll(ctx, check.registered); err != nil {
		return err
	}
	proxy, err := in.supervise(ctx, cancel, c, "proxy")
	if err != nil {
		return err
	}
	defer proxy.stop()
	for _, s := range []struct {
		name string
		ok   func(context.Context) error
	}{{"node", check.node}, {"DNS", check.dns}, {"Services", check.services}} {
		if err := poll(ctx, s.ok); err != nil {
			return err
		}
		step(s.name)
	}
	ready()
	<-ctx.Done()
	return context.Cause(ctx)
}

// keys creates the keys and kubeconfig files of the cluster.
func (in *inside) keys(c plan.Cluster) error {
	dir := in.lab.PKIDir(c)
	err := pki.Make(dir, pki.Names{
		APIServerIPs: []net.IP{c.Node4.AsSlice(), c.Node6.AsSlice(), c.APIService().AsSlice(), net.IPv4(127, 0, 0, 1)},
		NodeName:     c.NodeName(), NodeIPs: []net.IP{c.Node4.AsSlice(), c.Node6.AsSlice()},
	})
	if err != nil {
		return err
	}
	inside := fmt.Sprintf("https://%s:%d", c.Node4, plan.APIPort)
	for user, file := range map[string]string{
		"kcm": "", "scheduler": "", "kubelet": "", "proxy": "", "dns": "",
		"admin": filepath.Join(dir, "admin.kubeconfig"),
	} {
		if file == "" {
			file = filepath.Join(dir, user+".kubeconfig")
		}
		if err := pki.Kubeconfig(dir, user, c.Name, inside, file); err != nil {
			return err
		}
	}
	if err := pki.Kubeconfig(dir, "admin", c.Name, inside, in.lab.InsideKubeconfig(c)); err != nil {
		return err
	}
	return pki.Kubeconfig(dir, "admin", c.Name, fmt.Sprintf("https://127.0.0.1:%d", c.HostPort), in.lab.Kubeconfig(c))
}

// poll calls f until it succeeds or ctx ends.
func poll(ctx context.Context, f func(context.Context) error) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func lastLine(file string) string {
	lines := strings.Split(strings.TrimSpace(tail(file, 4096)), "\n")
	return lines[len(lines)-1]
}
