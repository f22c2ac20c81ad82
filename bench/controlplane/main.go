// Command controlplane measures what it costs the control plane to keep sidecars current.
//
// In: the programs that `make build sandbox` makes, and the size of a mesh. It starts a Kubernetes API server, fills it
// with App Mesh objects and pods, starts the control plane as a process of its own, and connects clients that speak
// incremental xDS over mutual TLS and acknowledge all that they get. Then the readiness of pods changes, one at a time
// and many at once. Out: a table, and as the last line JSON. All CPU and memory is that of the control plane's process
// alone, from the watch of the API server to the wire. On request it does the same with a peer, istiod, with a cluster
// of its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// size is how large the mesh is.
type size struct {
	// services are VirtualServices, each of a VirtualNode with two pods; workloads are VirtualNodes that reach all of
	// them.
	services, workloads int
	// clients are the sidecars of the workloads.
	clients int
	// changes are how many times the readiness of a pod changes, first one at a time, then all at once.
	changes int
}

func main() {
	var (
		s     size
		bin   string
		peer  string
		scale string
		plot  string
		churn time.Duration
	)
	flag.StringVar(&bin, "bin", "bin", "folder of the programs")
	flag.IntVar(&s.services, "services", 1000, "services, each with two endpoints")
	flag.IntVar(&s.workloads, "workloads", 20, "workloads among which the clients are; each reaches every service")
	flag.IntVar(&s.clients, "clients", 200, "clients")
	flag.IntVar(&s.changes, "changes", 1000, "changes, one at a time and then all at once")
	flag.StringVar(&peer, "istiod", "", "measure this program, Istio's control plane, too")
	flag.StringVar(&scale, "scale", "",
		"measure several sizes instead: services or clients, with a list, as in services=1000,2000 clients=50,200")
	flag.StringVar(&plot, "plot", "", "write the picture of -scale to this file")
	flag.StringVar(&profiles, "profiles", "", "write profiles of the control plane's heap into this folder")
	flag.DurationVar(&churn, "churn", 0,
		"let pods, objects and clients come and go for so long instead, and see whether anything is left behind")
	flag.Parse()
	if os.Getenv(floorVariable) != "" {
		if err := serveFloor(); err != nil {
			fmt.Fprintln(os.Stderr, "floor:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(bin, peer, s, churn, scale, plot); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin, peer string, s size, churn time.Duration, scale, plot string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bin, err := filepath.Abs(bin)
	switch {
	case err != nil:
		return err
	case peer != "" && (churn > 0 || scale != ""):
		return errors.New("-istiod goes with neither -churn nor -scale")
	case churn > 0:
		return comeAndGo(ctx, bin, s, churn)
	case scale != "":
		return several(ctx, bin, s, scale, plot)
	}
	return single(ctx, bin, peer, s)
}

// fewer is by how much fewer changes one at a time a peer gets: it takes its time for each.
const fewer = 10

func single(ctx context.Context, bin, peer string, s size) error {
	r, err := measure(ctx, anymesh{}, bin, s, s.changes)
	if err != nil {
		return err
	}
	if peer != "" {
		progress("the same with istiod")
		program, err := filepath.Abs(peer) // it runs in a folder of its own
		if err != nil {
			return err
		}
		theirs, err := measure(ctx, istiod{program}, bin, s, max(1, s.changes/fewer))
		if err != nil {
			return fmt.Errorf("istiod: %w", err)
		}
		r.Istiod = &theirs
	}
	if r.Floor, err = floor(ctx, s.clients, s.changes, r.Wire); err != nil {
		return err
	}
	r.table(os.Stdout, s)
	return json.NewEncoder(os.Stdout).Encode(r)
}

// several measures each of the sizes that the text names.
func several(ctx context.Context, bin string, base size, text, plot string) error {
	var curves []curve
	for _, axis := range strings.Fields(text) {
		name, list, _ := strings.Cut(axis, "=")
		c := curve{axis: name}
		for _, number := range strings.Split(list, ",") {
			n, err := strconv.Atoi(number)
			if err != nil {
				return fmt.Errorf("-scale: %q is no number", number)
			}
			s := base
			switch name {
			case "services":
				s.services = n
			case "clients":
				s.clients = n
			default:
				return fmt.Errorf("-scale: %q is neither services nor clients", name)
			}
			r, err := measure(ctx, anymesh{}, bin, s, s.changes)
			if err != nil {
				return err
			}
			c.points = append(c.points, point{n, r})
		}
		curves = append(curves, c)
	}
	for _, c := range curves {
		c.table(os.Stdout)
	}
	if plot == "" {
		return nil
	}
	return os.WriteFile(plot, draw(curves), 0o644)
}
