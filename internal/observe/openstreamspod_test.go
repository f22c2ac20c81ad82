package observe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/cases"
)

// envChanges makes the pod one whose objects change.
const envChanges = "ANYMESH_CONFORMANCE_CHANGES"

// insideChanges gives a real Envoy the configuration of a workload after each change of a case: a section of further
// objects. It writes the changes that make it drain listeners or filter chains, which ends the open connections there,
// and their number.
func insideChanges(s Sidecar, out io.Writer) error {
	return inCase(s, func(ctx context.Context, p *casePod) error { return p.writeDraining(ctx, s.Name, out) })
}

// writeDraining writes the changes that drain connections of the pod.
func (p *casePod) writeDraining(ctx context.Context, driver string, out io.Writer) error {
	c := p.of
	admin := adminOf(p.dir)
	var before int
	for i, change := range append([]txtar.File{{Name: "start"}}, c.Generated()...) {
		objects, err := cases.Decode(change.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", change.Name, err)
		}
		for _, o := range objects {
			c.Objects = slices.DeleteFunc(c.Objects, func(old client.Object) bool {
				return fmt.Sprintf("%T %s", old, client.ObjectKeyFromObject(old)) == fmt.Sprintf("%T %s", o, client.ObjectKeyFromObject(o))
			})
		}
		c.Objects = append(c.Objects, objects...)
		m := c.translate(driver, p.renderer, "")
		view, err := m.View(p.workload)
		if err != nil {
			return err
		}
		if err := p.discovery.replace(ctx, admin, view.Workload.NodeID, i, m.Rendered[view.Workload.Key]); err != nil {
			return fmt.Errorf("%s: %w", change.Name, err)
		}
		after, err := admin.draining(ctx)
		if err != nil {
			return err
		}
		if after > before {
			fmt.Fprintf(out, "%s: %d\n", change.Name, after-before)
		}
		before = after
	}
	return nil
}

// replace publishes resources and waits until Envoy has all of them: clusters are removed last, and there is another
// one for each n. Those of n 0 may be incomplete.
func (d *discovery) replace(ctx context.Context, admin adminInterface, node string, n int,
	all []sidecar.Resource) error {
	marker := func(n int) string { return "marker-" + strconv.Itoa(n) }
	body, err := proto.Marshal(&clusterv3.Cluster{Name: marker(n)})
	if err != nil {
		return err
	}
	snapshot, err := snapshotOf(append(slices.Clone(all), sidecar.Resource{Type: xds.ClusterType, Name: marker(n), Body: body}))
	if err != nil {
		return err
	}
	d.server.Publish(node, snapshot, time.Time{})
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		text, err := admin.get(ctx, "/clusters")
		if err != nil {
			return err
		}
		if strings.Contains(text, marker(n)+"::") && (n == 0 || !strings.Contains(text, marker(n-1)+"::")) {
			return nil
		}
		<-tick.C
	}
}

// adminInterface is the admin interface of an Envoy.
type adminInterface struct{ http.Client }

func adminOf(dir string) adminInterface {
	return adminInterface{http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, "admin.sock"))
		},
	}}}
}

func (a adminInterface) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin"+path, nil)
	if err != nil {
		return "", err
	}
	response, err := a.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// draining returns the number of listeners and filter chains that drain.
func (a adminInterface) draining(ctx context.Context) (int, error) {
	text, err := a.get(ctx, "/stats?filter=total_.*_draining$")
	if err != nil {
		return 0, err
	}
	sum := 0
	for line := range strings.Lines(text) {
		_, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, err := strconv.Atoi(value)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
