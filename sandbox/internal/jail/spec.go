// Package jail turns a process into a container: its own view of the file system, its own processes, the Pod's network,
// the wanted user and capabilities.
//
// In: a Spec, on file descriptor 3 of a process whose argv[0] is Argv0. Out: that process has become the container's
// program, or it has written why not on file descriptor 4 and ended with status 70.
//
// The work is done in this package's init function, before the rest of the program is initialized: a container then
// starts in milliseconds although the program is large. For the same reason the package imports little.
package jail

// Argv0 is the argv[0] by which a process of this program knows that it is to become a container.
const Argv0 = "anymesh-container"

// Spec says what the container is to look like. Paths under In* are of the sandbox, all others of the container.
type Spec struct {
	Enter      *Enter   `json:"enter,omitempty"` // join a running container instead of making one
	Namespaces []int    `json:"namespaces"`      // descriptors of namespaces to join first: network, UTS, IPC
	Hidden     []string `json:"hidden"`          // host folders that no container may see

	InWork    string  `json:"inWork"`           // an empty folder of this container, on a memory file system
	InRoot    string  `json:"inRoot,omitempty"` // folder that the container sees as its root; empty: the host's
	Mounts    []Mount `json:"mounts"`
	ReadOnly  bool    `json:"readOnly"`  // root file system
	OpenSys   bool    `json:"openSys"`   // privileged: /sys and /proc/sys may be written
	UserXattr bool    `json:"userXattr"` // in a user namespace: overlays keep their marks in user.* attributes

	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"` // working directory, made if missing
	TTY  bool     `json:"tty"` // standard input is a terminal: make it the controlling one

	UID          int    `json:"uid"`
	GID          int    `json:"gid"`
	Groups       []int  `json:"groups"`
	Capabilities []uint `json:"capabilities"` // numbers of the bounding set; effective for uid 0
	Ambient      []uint `json:"ambient,omitempty"`
	NoNewPrivs   bool   `json:"noNewPrivs"`
}

// Enter names the running container by descriptors of its namespaces. The PID namespace is joined by the parent.
type Enter struct {
	MountFD int `json:"mountFD"`
}

// Mount binds a host path into the container.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly"`
}
