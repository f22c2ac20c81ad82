package runtime

import (
	"path"
	"path/filepath"

	rt "k8s.io/cri-api/pkg/apis/runtime/v1"

	"anymesh.dev/anymesh/sandbox/internal/jail"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// programDir is the folder of the program of an image in the container.
const programDir = "/usr/local/bin"

// start starts the first process of the container.
func (r *Runtime) start(c *container) (*process, error) {
	spec, err := r.spec(c)
	if err != nil {
		return nil, err
	}
	spec.InWork = c.dir
	spec.InRoot = c.image.Root
	if c.base != nil {
		spec.InRoot = c.base.root
	}
	spec.Hidden = r.cfg.Hidden
	spec.UserXattr = r.cfg.UserNS
	spec.Mounts = r.mounts(c)
	spec.ReadOnly = c.cfg.GetLinux().GetSecurityContext().GetReadonlyRootfs()
	spec.OpenSys = c.cfg.GetLinux().GetSecurityContext().GetPrivileged()
	pid := c.pod.options().GetPid()
	if ns := c.cfg.GetLinux().GetSecurityContext().GetNamespaceOptions(); ns != nil {
		pid = ns.Pid
	}
	return launch(launchSpec{
		spec: spec, pod: c.pod, newPIDs: pid != rt.NamespaceMode_NODE,
		tty: c.cfg.Tty, stdin: c.cfg.Stdin, stdinOnce: c.cfg.StdinOnce, logs: c.logs,
	})
}

// spec returns the common part of the spec for the first process and for exec.
func (r *Runtime) spec(c *container) (*jail.Spec, error) {
	sec := c.cfg.GetLinux().GetSecurityContext()
	user, err := c.user()
	if err != nil {
		return nil, err
	}
	s := &jail.Spec{
		Argv: c.argv(), Env: c.env(user.Home), Dir: c.workingDir(),
		UID: user.UID, GID: user.GID, Groups: user.Groups, NoNewPrivs: sec.GetNoNewPrivs(),
	}
	caps, err := jail.Capabilities(sec.GetCapabilities().GetAddCapabilities(),
		sec.GetCapabilities().GetDropCapabilities(), sec.GetPrivileged())
	if err != nil {
		return nil, err
	}
	s.Capabilities = caps
	if ambient := sec.GetCapabilities().GetAddAmbientCapabilities(); len(ambient) > 0 {
		if s.Ambient, err = jail.Capabilities(ambient, []string{"ALL"}, false); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// lastWins keeps only the last definition of each variable.
func lastWins(env []string) []string {
	at := map[string]int{}
	var out []string
	for _, e := range env {
		name := e
		for i := range e {
			if e[i] == '=' {
				name = e[:i]
				break
			}
		}
		if i, ok := at[name]; ok {
			out[i] = e
			continue
		}
		at[name] = len(out)
		out = append(out, e)
	}
	return out
}

// mounts returns the files of the Pod, those of the image, then the volumes, which may cover both.
func (r *Runtime) mounts(c *container) []jail.Mount {
	out := []jail.Mount{
		{Source: c.pod.file("resolv.conf"), Target: "/etc/resolv.conf"},
		{Source: c.pod.file("hostname"), Target: "/etc/hostname"},
	}
	if c.image.Program != "" {
		out = append(out, jail.Mount{
			Source: c.image.Program, Target: path.Join(programDir, filepath.Base(c.image.Program)), ReadOnly: true,
		})
	}
	for to, from := range c.image.Files {
		out = append(out, jail.Mount{Source: from, Target: to, ReadOnly: true})
	}
	for _, m := range c.cfg.Mounts {
		out = append(out, jail.Mount{Source: m.HostPath, Target: m.ContainerPath, ReadOnly: m.Readonly})
	}
	return out
}
