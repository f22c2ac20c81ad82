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

// base contains the parts of a container that come from an OCI archive.
type base struct {
	root   string // root folder, shared read-only by all containers of the image
	config oci.ImageConfig
}

// base unpacks the image of an archive if necessary. It returns nil for images without an archive.
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

// imageUser returns the user of an archive as the kubelet expects it: a number or a name.
func imageUser(config oci.ImageConfig) (uid *rt.Int64Value, name string) {
	name, _, _ = strings.Cut(config.User, ":")
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		return &rt.Int64Value{Value: n}, ""
	}
	return nil, name
}

// argv returns the command line as in Kubernetes: command replaces program and args of the image, args replace the
// args of the image.
func (c *container) argv() []string {
	if len(c.cfg.Command) > 0 {
		return append(c.cfg.Command[:len(c.cfg.Command):len(c.cfg.Command)], c.cfg.Args...)
	}
	var entrypoint []string // empty for images without ENTRYPOINT
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

// user returns the user of the container. User and group names are resolved only in archives; otherwise IDs are
// numeric.
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
	// If the Pod sets no user, the kubelet repeats the user of the image here: then the group of the image applies.
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
			return user, fmt.Errorf("user %q: images without ociArchive support numeric users only", text)
		}
	}
	return user, nil
}

// env returns the variables. The Pod takes precedence over the image map, and the image map over the archive.
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

// stopSignal returns the stop signal of the Pod, else of the image, else SIGTERM.
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
