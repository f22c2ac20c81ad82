// Package plan defines the addresses and paths of a lab.
//
// In: the name, the state folder and the number of clusters of a lab. Out: one Lab value that all processes of the
// sandbox share as JSON, with the address ranges of each cluster. The package has no side effects.
package plan

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
)

// MaxClusters is the maximum number of clusters in the address plan of a lab.
const MaxClusters = 50

// KubernetesVersion is the version of the Kubernetes modules of this program.
const KubernetesVersion = "v1.36.3"

// ClusterDomain is the DNS suffix of every cluster.
const ClusterDomain = "cluster.local"

// Ports in the network namespace of a node.
const (
	APIPort     = 6443
	KubeletPort = 10250
	DNSPort     = 53
)

// Lab is the shared configuration of the processes of a sandbox.
type Lab struct {
	Name     string    `json:"name"`
	Dir      string    `json:"dir"`              // state folder on the host, absolute
	Images   []string  `json:"images,omitempty"` // absolute paths of image map files; later files take precedence
	UserNS   bool      `json:"userNamespace"`    // runs in a user namespace, without root
	Clusters []Cluster `json:"clusters"`
	// APIServerOnly means that clusters have etcd and kube-apiserver, without controllers, scheduler, node and DNS.
	APIServerOnly bool `json:"apiServerOnly,omitempty"`
}

// Cluster is one Kubernetes cluster with one node. All ranges are distinct within a lab.
type Cluster struct {
	Index    int    `json:"index"` // from 1
	Name     string `json:"name"`  // c1, c2, ...
	HostPort int    `json:"hostPort,omitempty"`

	Node4     netip.Addr   `json:"node4"`
	Node6     netip.Addr   `json:"node6"`
	Router4   netip.Addr   `json:"router4"` // lab side of the link to the node
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
		return Lab{}, fmt.Errorf("lab name %q: use at most 32 characters a-z, 0-9 and '-', without '-' at the start or end", name)
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

// NodeName is the name of the only node of the cluster.
func (c Cluster) NodeName() string { return c.Name + "-node" }

// APIService is the ClusterIP of the Service "kubernetes", the first of the range.
func (c Cluster) APIService() netip.Addr { return c.Services4.Addr().Next() }

// DNSService is the ClusterIP of the Service "kube-dns", the tenth of the range.
func (c Cluster) DNSService() netip.Addr { return nth(c.Services4, 10) }

// Gateway4 is the router address of Pods on the node, in the Pod range.
func (c Cluster) Gateway4() netip.Addr { return nth(c.Pods4, 1) }

// PodAddrs returns the n-th address pair of the Pod ranges, n from 2 to 65534.
func (c Cluster) PodAddrs(n int) (v4, v6 netip.Addr) { return nth(c.Pods4, n), nth(c.Pods6, n) }

func nth(p netip.Prefix, n int) netip.Addr {
	b := p.Addr().AsSlice()
	b[len(b)-1] += byte(n)
	b[len(b)-2] += byte(n >> 8)
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// Kubeconfig is the kubeconfig file for users on the host.
func (l Lab) Kubeconfig(c Cluster) string { return filepath.Join(l.Dir, c.Name+".kubeconfig") }

// InsideKubeconfig is the kubeconfig file for programs inside the lab (Pods of any cluster).
func (l Lab) InsideKubeconfig(c Cluster) string {
	return filepath.Join(l.Dir, c.Name+".inside.kubeconfig")
}

// LogDir contains one log file per component.
func (l Lab) LogDir() string { return filepath.Join(l.Dir, "logs") }

// RunDir is the mount point of the tmpfs in the mount namespace of the lab.
func (l Lab) RunDir() string { return filepath.Join(l.Dir, "run") }

// ImageDir contains the unpacked images of all clusters.
func (l Lab) ImageDir() string { return filepath.Join(l.RunDir(), "images") }

// ClusterDir is the folder of one cluster in RunDir.
func (l Lab) ClusterDir(c Cluster) string { return filepath.Join(l.RunDir(), c.Name) }

// PKIDir contains the keys of a cluster.
func (l Lab) PKIDir(c Cluster) string { return filepath.Join(l.ClusterDir(c), "pki") }

// Cluster returns a cluster by name.
func (l Lab) Cluster(name string) (Cluster, error) {
	for _, c := range l.Clusters {
		if c.Name == name {
			return c, nil
		}
	}
	return Cluster{}, fmt.Errorf("lab %q has no cluster %q, only c1 to c%d", l.Name, name, len(l.Clusters))
}
