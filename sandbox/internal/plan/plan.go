// Package plan says who gets which address and where things lie.
//
// In: a lab's name, its state folder and the number of clusters. Out: one Lab value that every process of the sandbox
// shares (it travels as JSON), with the address ranges of each cluster. Pure: nothing here touches the machine.
package plan

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
)

// MaxClusters is how many clusters fit in one lab's address plan.
const MaxClusters = 50

// KubernetesVersion is the version of the Kubernetes modules that this program is built from.
const KubernetesVersion = "v1.36.3"

// ClusterDomain is the DNS suffix of every cluster.
const ClusterDomain = "cluster.local"

// Ports of a node, all in the node's own network namespace.
const (
	APIPort     = 6443
	KubeletPort = 10250
	DNSPort     = 53
)

// Lab is everything the processes of one sandbox agree on.
type Lab struct {
	Name     string    `json:"name"`
	Dir      string    `json:"dir"`              // state folder on the host, absolute
	Images   []string  `json:"images,omitempty"` // image map files, absolute; later ones win
	UserNS   bool      `json:"userNamespace"`    // runs in a user namespace, without root
	Clusters []Cluster `json:"clusters"`
}

// Cluster is one Kubernetes cluster with one node. All ranges are distinct within a lab.
type Cluster struct {
	Index    int    `json:"index"` // from 1
	Name     string `json:"name"`  // c1, c2, ...
	HostPort int    `json:"hostPort,omitempty"`

	Node4     netip.Addr   `json:"node4"`
	Node6     netip.Addr   `json:"node6"`
	Router4   netip.Addr   `json:"router4"` // the lab's end of the link to the node
	Router6   netip.Addr   `json:"router6"`
	Pods4     netip.Prefix `json:"pods4"`
	Pods6     netip.Prefix `json:"pods6"`
	Services4 netip.Prefix `json:"services4"`
	Services6 netip.Prefix `json:"services6"`
}

var nameRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// New plans a lab of n clusters. The name must be a DNS label of at most 32 characters, n between 1 and MaxClusters.
func New(name, dir string, n int) (Lab, error) {
	if !nameRule.MatchString(name) {
		return Lab{}, fmt.Errorf("lab name %q: use at most 32 of a-z, 0-9 and '-', not at the ends", name)
	}
	if n < 1 || n > MaxClusters {
		return Lab{}, fmt.Errorf("--clusters=%d: must be between 1 and %d", n, MaxClusters)
	}
	if !filepath.IsAbs(dir) {
		return Lab{}, fmt.Errorf("state folder %q: must be an absolute path", dir)
	}
	lab := Lab{Name: name, Dir: filepath.Clean(dir)}
	for i := 1; i <= n; i++ {
		lab.Clusters = append(lab.Clusters, cluster(i))
	}
	return lab, nil
}

func cluster(i int) Cluster {
	p := func(format string, a ...any) netip.Prefix { return netip.MustParsePrefix(fmt.Sprintf(format, a...)) }
	a := func(format string, v ...any) netip.Addr { return netip.MustParseAddr(fmt.Sprintf(format, v...)) }
	return Cluster{
		Index: i, Name: fmt.Sprintf("c%d", i),
		Node4: a("10.39.%d.2", i), Router4: a("10.39.%d.1", i),
		Node6: a("fd00:10:39:%d::2", i), Router6: a("fd00:10:39:%d::1", i),
		Pods4: p("10.%d.0.0/16", 40+i), Pods6: p("fd00:10:%d::/64", 40+i),
		Services4: p("10.%d.0.0/16", 140+i), Services6: p("fd00:10:%d::/112", 140+i),
	}
}

// NodeName is the name of the cluster's only node.
func (c Cluster) NodeName() string { return c.Name + "-node" }

// APIService is the ClusterIP of the Service "kubernetes": the first of the range.
func (c Cluster) APIService() netip.Addr { return c.Services4.Addr().Next() }

// DNSService is the ClusterIP of the Service "kube-dns": the tenth of the range.
func (c Cluster) DNSService() netip.Addr { return nth(c.Services4, 10) }

// Gateway4 is the address of the node that Pods see as their router; it lies in the Pod range.
func (c Cluster) Gateway4() netip.Addr { return nth(c.Pods4, 1) }

// PodAddrs gives the pair of addresses number n of the Pod ranges, n from 2 to 65534.
func (c Cluster) PodAddrs(n int) (v4, v6 netip.Addr) { return nth(c.Pods4, n), nth(c.Pods6, n) }

func nth(p netip.Prefix, n int) netip.Addr {
	b := p.Addr().AsSlice()
	b[len(b)-1] += byte(n)
	b[len(b)-2] += byte(n >> 8)
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// Kubeconfig is the file for users on the host.
func (l Lab) Kubeconfig(c Cluster) string { return filepath.Join(l.Dir, c.Name+".kubeconfig") }

// InsideKubeconfig is the file for programs inside the lab (Pods of any of its clusters).
func (l Lab) InsideKubeconfig(c Cluster) string {
	return filepath.Join(l.Dir, c.Name+".inside.kubeconfig")
}

// LogDir holds one log file a component.
func (l Lab) LogDir() string { return filepath.Join(l.Dir, "logs") }

// RunDir is the mount point of the memory file system that exists only inside the lab's mount namespace.
func (l Lab) RunDir() string { return filepath.Join(l.Dir, "run") }

// ImageDir holds the file systems of images, which all clusters share.
func (l Lab) ImageDir() string { return filepath.Join(l.RunDir(), "images") }

// ClusterDir is the part of RunDir that belongs to one cluster.
func (l Lab) ClusterDir(c Cluster) string { return filepath.Join(l.RunDir(), c.Name) }

// PKIDir holds a cluster's keys.
func (l Lab) PKIDir(c Cluster) string { return filepath.Join(l.ClusterDir(c), "pki") }

// Cluster finds a cluster by name.
func (l Lab) Cluster(name string) (Cluster, error) {
	for _, c := range l.Clusters {
		if c.Name == name {
			return c, nil
		}
	}
	return Cluster{}, fmt.Errorf("lab %q has no cluster %q: it has c1 to c%d", l.Name, name, len(l.Clusters))
}
