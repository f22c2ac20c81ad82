// Package jail turns a process into a container: with its own file system, its own processes, the network of the Pod,
// and the configured user and capabilities.
//
// In: a Spec on file descriptor 3 of a process whose argv[0] is Argv0. Out: the process executes the program of the
// container, or writes an error to file descriptor 4 and exits with status 70.
//
// The work is done in the init function of this package, before other packages are initialized, so that a container
// starts in milliseconds although the program is large. For the same reason the package has few imports.
package jail

// Argv0 is the argv[0] of a process that becomes a container.
const Argv0 = "anymesh-container"

// Spec describes the container. Paths in fields In* are paths of the sandbox, all others are paths of the container.
type Spec struct {
	Enter      *Enter   `json:"enter,omitempty"` // join a running container instead of creating one
	Namespaces []int    `json:"namespaces"`      // descriptors of namespaces to join: network, UTS, IPC
	Hidden     []string `json:"hidden"`          // host folders hidden from containers

	InWork    string  `json:"inWork"`           // empty folder of this container on a tmpfs
	InRoot    string  `json:"inRoot,omitempty"` // root folder of the container; empty: the root of the host
	Mounts    []Mount `json:"mounts"`
	ReadOnly  bool    `json:"readOnly"`  // read-only root file system
	OpenSys   bool    `json:"openSys"`   // privileged: /sys and /proc/sys are writable
	UserXattr bool    `json:"userXattr"` // in a user namespace: overlays use user.* attributes

	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"` // working directory, created if missing
	TTY  bool     `json:"tty"` // standard input is a terminal: make it the controlling terminal

	UID          int    `json:"uid"`
	GID          int    `json:"gid"`
	Groups       []int  `json:"groups"`
	Capabilities []uint `json:"capabilities"` // numbers of the bounding set; effective for uid 0
	Ambient      []uint `json:"ambient,omitempty"`
	NoNewPrivs   bool   `json:"noNewPrivs"`
}

// Enter contains namespace descriptors of the running container. The parent joins the PID namespace.
type Enter struct {
	MountFD int `json:"mountFD"`
}

// Mount binds a host path into the container.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly"`
}
