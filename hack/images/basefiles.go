package main

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
)

// deb is an unpacked Debian package.
type deb struct {
	fetched
	control string // its metadata paragraph
	files   tree
}

// The users of the images: root for the capture container, nonroot for the control plane, sidecar for sidecars.
const (
	passwd = "root:x:0:0:root:/root:/sbin/nologin\n" +
		"sidecar:x:1337:1337:sidecar:/:/sbin/nologin\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +
		"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"
	group    = "root:x:0:\nsidecar:x:1337:\nnogroup:x:65534:\nnonroot:x:65532:\n"
	nsswitch = "passwd: files\ngroup: files\nhosts: files dns\n"
)

// base creates the base layer of an image: the files of the packages, users, and the bundle of CA certificates.
//
// The scripts of packages do not run: base creates the files that they would create. As in other images without dpkg,
// each package has its metadata paragraph in /var/lib/dpkg/status.d, for scanners.
func base(packages []deb) tree {
	t := tree{
		"tmp":          {mode: 0o1777, dir: true},
		"root":         {mode: 0o700, dir: true},
		"home/nonroot": {mode: 0o700, dir: true, uid: 65532, gid: 65532},
	}
	for _, p := range packages {
		for name, n := range p.files {
			if wanted(name, n) {
				t[name] = n
			}
		}
		t.file("var/lib/dpkg/status.d/"+p.name, p.control)
	}
	t.file("etc/passwd", passwd)
	t.file("etc/group", group)
	t.file("etc/nsswitch.conf", nsswitch)
	if bundle := certificates(t); bundle != "" {
		t.file("etc/ssl/certs/ca-certificates.crt", bundle)
	}
	return t
}

// unwanted are folders of packages that an image without shell and terminal does not need.
var unwanted = []string{
	"usr/share/man/", "usr/share/info/", "usr/share/lintian/", "usr/share/locale/", "usr/share/bug/",
	"usr/share/zoneinfo/right/", "usr/share/zoneinfo/posix/", "usr/share/base-files/",
	"usr/share/ca-certificates/", "usr/lib/x86_64-linux-gnu/gconv/", "usr/lib/x86_64-linux-gnu/audit/",
	"etc/update-motd.d/", "etc/default/", "etc/profile.d/", "etc/skel/", "usr/sbin/", "usr/bin/", "sbin/",
	"bin/", "boot/", "proc/", "sys/", "run/", "dev/", "media/", "mnt/", "srv/", "opt/", "usr/games/",
	"usr/src/", "usr/include/",
}

// wanted reports whether an entry of a package is added to the image. CA certificates are added as one bundle, and
// folders with their contents, except for world-writable folders. License texts are kept.
func wanted(name string, n node) bool {
	if path.Dir(name) == "usr/share/ca-certificates/mozilla" {
		return true // certificates removes them again
	}
	for _, dir := range unwanted {
		if strings.HasPrefix(name+"/", dir) {
			return false
		}
	}
	if ok, _ := path.Match("usr/share/doc/*/copyright", name); !ok && strings.HasPrefix(name, "usr/share/doc/") {
		return false
	}
	return !n.dir || n.mode&0o1000 != 0
}

// certificates removes the single certificates from t and returns them as one file, ordered by name.
func certificates(t tree) string {
	var bundle bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if !strings.HasPrefix(name, "usr/share/ca-certificates/") {
			continue
		}
		bundle.Write(bytes.TrimSpace(t[name].body))
		bundle.WriteByte('\n')
		delete(t, name)
	}
	return bundle.String()
}
