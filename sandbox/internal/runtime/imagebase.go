package runtime

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	oci "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"
	rt "k8s.io/cri-api/pkg/apis/runtime/v1"

	"anymesh.dev/anymesh/sandbox/internal/imagemap"
	"anymesh.dev/anymesh/sandbox/internal/ociimage"
)

// base is what an OCI archive gives to a container.
type base struct {
	root   string // its files, which all containers of the image share: nobody writes there
	config oci.ImageConfig
}

// base unpacks the image of an archive if it is not yet. Images without an archive have no base.
func (r *Runtime) base(image imagemap.Image) (*base, error) {
	if image.OCIArchive == "" {
		return nil, nil
	}
	opened, err := image.Open()
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	root, err := ociimage.Store{Dir: r.cfg.ImageDir}.Root(opened)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return &base{root, opened.Config}, nil
}

// imageUser gives the user that an archive names, as the kubelet wants to know it: a number, or a name.
func imageUser(config oci.ImageConfig) (uid *rt.Int64Value, name string) {
	name, _, _ = strings.Cut(config.User, ":")
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		return &rt.Int64Value{Value: n}, ""
	}
	return nil, name
}

// argv follows Kubernetes: command replaces the image's program and args, args replace the image's args.
func (c *container) argv() []string {
	if len(c.cfg.Command) > 0 {
		return append(c.cfg.Command[:len(c.cfg.Command):len(c.cfg.Command)], c.cfg.Args...)
	}
	var entrypoint []string // empty for an image of files only, as "FROM scratch" without ENTRYPOINT
	args := c.image.Args
	switch {
	case c.image.Program != "":
		entrypoint = []string{path.Join(programDir, filepath.Base(c.image.Program))}
	case c.base != nil:
		entrypoint = c.base.config.Entrypoint
		if args == nil {
			args = c.base.config.Cmd
		}
	}
	if len(c.cfg.Args) > 0 {
		args = c.cfg.Args
	}
	return append(entrypoint[:len(entrypoint):len(entrypoint)], args...)
}

// user is who the container runs as. Users and groups have names only in archives; on this machine's files they are
// numbers.
func (c *container) user() (ociimage.User, error) {
	sec := c.cfg.GetLinux().GetSecurityContext()
	user, err := c.imageOrPodUser(sec)
	if err != nil {
		return user, err
	}
	if sec.GetRunAsGroup() != nil {
		user.GID = int(sec.RunAsGroup.Value)
	}
	if sec.GetSupplementalGroupsPolicy() == rt.SupplementalGroupsPolicy_Strict {
		user.Groups = nil
	}
	for _, g := range sec.GetSupplementalGroups() {
		user.Groups = append(user.Groups, int(g))
	}
	return user, nil
}

func (c *container) imageOrPodUser(sec *rt.LinuxContainerSecurityContext) (ociimage.User, error) {
	text := ""
	switch {
	case c.image.User != nil:
		text = strconv.FormatInt(*c.image.User, 10)
	case c.base != nil:
		text = c.base.config.User
	}
	// The kubelet repeats the image's user here if the Pod gives none: then the image's group counts too.
	wanted := sec.GetRunAsUsername()
	if sec.GetRunAsUser() != nil {
		wanted = strconv.FormatInt(sec.RunAsUser.Value, 10)
	}
	if name, _, _ := strings.Cut(text, ":"); wanted != "" && wanted != name {
		text = wanted
	}
	if c.base != nil {
		return ociimage.LookUp(c.base.root, text)
	}
	user := ociimage.User{Home: "/root"}
	if text != "" && text != "0" {
		user.Home = "/"
		var err error
		if user.UID, err = strconv.Atoi(text); err != nil {
			return user, fmt.Errorf("user %q: without an ociArchive, the sandbox knows users by number only", text)
		}
	}
	return user, nil
}

// env gives the variables, those of the Pod over those of the image map over those of the archive.
func (c *container) env(home string) []string {
	env := []string{"PATH=" + defaultPath, "HOSTNAME=" + c.pod.cfg.Hostname, "HOME=" + home}
	if c.base != nil {
		env = append(env, c.base.config.Env...)
	}
	env = append(env, c.image.Env...)
	if c.cfg.Tty {
		env = append(env, "TERM=xterm")
	}
	for _, e := range c.cfg.Envs {
		env = append(env, e.Key+"="+string(e.Value))
	}
	return lastWins(env)
}

func (c *container) workingDir() string {
	switch {
	case c.cfg.WorkingDir != "":
		return c.cfg.WorkingDir
	case c.image.WorkingDir == "" && c.base != nil:
		return c.base.config.WorkingDir
	}
	return c.image.WorkingDir
}

// stopSignal is what the Pod says, else what the image says, else SIGTERM.
func (c *container) stopSignal() syscall.Signal {
	if c.cfg.GetStopSignal() != rt.Signal_RUNTIME_DEFAULT || c.base == nil {
		return stopSignal(c.cfg.GetStopSignal())
	}
	text := strings.ToUpper(c.base.config.StopSignal)
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return syscall.Signal(n)
	}
	if sig := unix.SignalNum("SIG" + strings.TrimPrefix(text, "SIG")); sig != 0 {
		return sig
	}
	return syscall.SIGTERM
}
