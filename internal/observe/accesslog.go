package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// logTimeout limits the time until the sidecar has written all entries.
const logTimeout = 5 * time.Second

// mountRun mounts the folder of the agent, once. The sidecar writes its access log there.
var mountRun = sync.OnceValue(func() error {
	if err := unix.Mount("conformance", "/run", "tmpfs", 0, "mode=0755"); err != nil {
		return &os.PathError{Op: "mount", Path: "/run", Err: err}
	}
	return errors.Join(os.Mkdir(sidecar.CertificatesDir, 0o755),
		os.Chown(sidecar.CertificatesDir, sidecar.UID, sidecar.UID))
})

// checkLog compares the entries of the access log with those that the lines expect. Without any, it compares nothing.
func (p *pod) checkLog(ctx context.Context, lines []Line) []string {
	var want []string
	for _, l := range lines {
		if entry, is := l.Want[logEntry]; is {
			want = append(want, loggedCluster.ReplaceAllStringFunc(entry, p.clusterName))
		}
	}
	if len(want) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		text, err := os.ReadFile(sidecar.AccessLogFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return []string{err.Error()}
		}
		have := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if slices.Equal(have, want) {
			return nil
		}
		select {
		case <-ctx.Done():
			return []string{fmt.Sprintf("the access log is %q, want %q", have, want)}
		case <-tick.C:
		}
	}
}

// loggedCluster stands for the name of the cluster of a destination, which each driver chooses.
var loggedCluster = regexp.MustCompile(`<[^>]+>`)

// clusterName returns the name of the cluster of a destination, which is in angle brackets.
func (p *pod) clusterName(text string) string {
	key := model.Key{Mesh: p.view.Mesh.Name, Name: strings.Trim(text, "<>")}
	to, known := p.index.ResolvedDestination(key)
	if !known {
		return "no destination " + key.Name
	}
	name := p.sidecar.Driver.RenderDestination(to)[0].Name
	if p.sidecar.ClusterName != nil {
		name = p.sidecar.ClusterName(name)
	}
	return name
}
