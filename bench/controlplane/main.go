// Command controlplane measures the cost of configuration updates in the control plane.
//
// In: the programs of `make build sandbox` and the size of a mesh. It starts a Kubernetes API server, creates App
// Mesh objects and pods, starts the control plane as a separate process, and connects clients that use incremental
// xDS over mutual TLS and acknowledge each response. Then it changes the readiness of pods, sequentially and
// concurrently. Out: a table, and JSON on the last line. CPU and memory are those of the control plane process only,
// from the watch of the API server to the socket. Optionally, it runs the same benchmark with istiod in a separate
// cluster.
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

// size is the size of the mesh.
type size struct {
	// services are VirtualServices, each with a VirtualNode and two pods; workloads are VirtualNodes with all
	// services as backends.
	services, workloads int
	// group names the services as backends by a BackendGroup.
	group bool
	// members are objects of Open Service Mesh in place of those of App Mesh: every pod reaches every Service.
	members bool
	// l7mp are objects of l7mp in place of those of App Mesh: a VirtualService, a Route and a Target for each service.
	l7mp bool
	// reached adds a service, which all workloads reach, to each workload that a change creates.
	reached bool
	// clients is the number of sidecars.
	clients int
	// agents connects an agent for each sidecar, as in a pod.
	agents bool
	// changes is the number of readiness changes, first sequential, then concurrent.
	changes int
}

func main() {
	var (
		s     size
		bin   string
		peer  string
		scale string
		plot  string
		kind  string
		churn time.Duration
	)
	flag.StringVar(&bin, "bin", "bin", "folder with the programs")
	flag.IntVar(&s.services, "services", 1000, "number of services with two endpoints each")
	flag.IntVar(&s.workloads, "workloads", 20, "number of workloads of the clients; each has all services as backends")
	flag.BoolVar(&s.group, "group", false, "the workloads name a BackendGroup with all services in place of a list")
	flag.BoolVar(&s.reached, "reached", false, "all others reach the workloads that -change workloads creates; needs -group")
	flag.BoolVar(&s.members, "members", false,
		"use objects of Open Service Mesh in permissive mode, in which every pod reaches every service")
	flag.BoolVar(&s.l7mp, "l7mp", false, "use objects of l7mp and its proxies; each service has three, and one workload")
	flag.IntVar(&s.clients, "clients", 200, "number of clients")
	flag.BoolVar(&s.agents, "agents", true, "connect an agent for each sidecar, which receives the host names")
	flag.IntVar(&s.changes, "changes", 1000, "number of changes, first sequential, then concurrent")
	flag.StringVar(&peer, "istiod", "", "path of istiod, to measure it as well")
	flag.StringVar(&scale, "scale", "",
		"measure several sizes instead, for example services=1000,2000 clients=50,200")
	flag.StringVar(&plot, "plot", "", "write a chart of the -scale results to this SVG file")
	flag.StringVar(&profiles, "profiles", "", "write heap and CPU profiles of the control plane to this folder")
	flag.DurationVar(&churn, "churn", 0,
		"replace pods, objects and clients for this duration instead, and check for leaks")
	flag.StringVar(&kind, "change", "", "measure one kind of change instead: "+strings.Join(kinds, ", "))
	flag.Parse()
	if os.Getenv(floorVariable) != "" {
		if err := serveFloor(); err != nil {
			fmt.Fprintln(os.Stderr, "floor:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(bin, peer, s, churn, kind, scale, plot); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin, peer string, s size, churn time.Duration, kind, scale, plot string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bin, err := filepath.Abs(bin)
	switch {
	case err != nil:
		return err
	case peer != "" && (churn > 0 || scale != ""):
		return errors.New("-istiod cannot be combined with -churn or -scale")
	case kind != "":
		return measureChange(ctx, bin, peer, kind, s)
	case churn > 0:
		return testChurn(ctx, bin, s, churn)
	case scale != "":
		return measureScale(ctx, bin, s, scale, plot)
	}
	return measureOnce(ctx, bin, peer, s)
}

// plane returns the Anymesh control plane with its objects, for a kind of change.
func (s size) plane(kind string) changePlane {
	switch {
	case s.members:
		return members{anymesh{kind: kind}}
	case s.l7mp:
		return l7mp{anymesh{kind: kind, class: "native"}, s.workloads}
	}
	return anymesh{kind: kind}
}

// istiodDivisor is the divisor for the number of sequential changes of istiod, because each change takes longer.
const istiodDivisor = 10

func measureOnce(ctx context.Context, bin, peer string, s size) error {
	r, err := measure(ctx, s.plane(""), bin, s, s.changes)
	if err != nil {
		return err
	}
	if peer != "" {
		progress("measuring istiod")
		program, err := filepath.Abs(peer) // it runs in a different working directory
		if err != nil {
			return err
		}
		theirs, err := measure(ctx, istiod{program: program}, bin, s, max(1, s.changes/istiodDivisor))
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

// measureScale measures each size that the text lists.
func measureScale(ctx context.Context, bin string, base size, text, plot string) error {
	var curves []curve
	for _, axis := range strings.Fields(text) {
		name, list, _ := strings.Cut(axis, "=")
		c := curve{axis: name}
		for _, number := range strings.Split(list, ",") {
			n, err := strconv.Atoi(number)
			if err != nil {
				return fmt.Errorf("-scale: %q is not a number", number)
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
			r, err := measure(ctx, s.plane(""), bin, s, s.changes)
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
