package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"time"
)

// The subset of SPDX 2.3 that is written (https://spdx.github.io/spdx-spec/v2.3/).
type (
	spdx struct {
		Version       string         `json:"spdxVersion"`
		DataLicense   string         `json:"dataLicense"`
		ID            string         `json:"SPDXID"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Creation      spdxCreation   `json:"creationInfo"`
		Packages      []spdxPackage  `json:"packages"`
		Relationships []spdxRelation `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID         string         `json:"SPDXID"`
		Name       string         `json:"name"`
		Version    string         `json:"versionInfo,omitempty"`
		Purpose    string         `json:"primaryPackagePurpose,omitempty"`
		Supplier   string         `json:"supplier,omitempty"`
		Download   string         `json:"downloadLocation"`
		Analyzed   bool           `json:"filesAnalyzed"`
		Concluded  string         `json:"licenseConcluded"`
		Declared   string         `json:"licenseDeclared"`
		Copyright  string         `json:"copyrightText"`
		Comment    string         `json:"comment,omitempty"`
		Checksums  []spdxChecksum `json:"checksums,omitempty"`
		References []spdxRef      `json:"externalRefs,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelation struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

// contents lists the parts of an image of one architecture.
type contents struct {
	arch   string
	digest string // of the image's manifest
	debs   []deb
	envoy  *pin // the wheel
	build  *debug.BuildInfo
}

// sbom returns the contents of an image as SPDX 2.3 in JSON.
func (r recipe) sbom(of release, c contents) ([]byte, error) {
	doc := spdx{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT",
		Name:      "anymesh.dev/" + r.name + ":" + of.version + " linux/" + c.arch,
		Namespace: source + "/spdx/" + r.name + "-" + strings.TrimPrefix(c.digest, "sha256:"),
		Creation: spdxCreation{
			of.created.UTC().Format(time.RFC3339),
			[]string{"Organization: Anymesh", "Tool: anymesh-images-" + of.version},
		},
	}
	image := spdxPackage{Name: "anymesh.dev/" + r.name, Version: of.version, Purpose: "CONTAINER", Declared: licenses}
	image.refer(
		"pkg:oci/" + r.name + "@" + url.QueryEscape(c.digest) + "?arch=" + c.arch + "&repository_url=anymesh.dev/" +
			r.name,
	)
	image.sum(strings.TrimPrefix(c.digest, "sha256:"))
	root := doc.add("Image-"+r.name, image)
	doc.relate("SPDXRef-DOCUMENT", "DESCRIBES", root)

	main := spdxPackage{Name: c.build.Main.Path, Version: "v" + of.version, Purpose: "APPLICATION", Declared: licenses}
	main.refer("pkg:golang/" + c.build.Main.Path + "@v" + of.version)
	doc.relate(root, "CONTAINS", doc.add("Go-"+c.build.Main.Path, main))
	for _, m := range modules(c.build) {
		p := spdxPackage{Name: m.Path, Version: m.Version, Purpose: "LIBRARY"}
		p.refer("pkg:golang/" + m.Path + "@" + m.Version)
		doc.relate("SPDXRef-Go-"+identifier(c.build.Main.Path), "DEPENDS_ON", doc.add("Go-"+m.Path, p))
	}
	for _, d := range c.debs {
		p := spdxPackage{Name: d.name, Version: d.version, Supplier: "Organization: Debian", Purpose: "LIBRARY"}
		at := d.name + "@" + url.QueryEscape(d.version)
		p.refer("pkg:deb/debian/" + at + "?arch=" + d.arch + "&distro=debian-" + debianVersion)
		p.sum(d.sha256)
		if d.pinned != "" {
			p.Comment = "Not built from images.lock, which pins version " + d.pinned + "."
		}
		doc.relate(root, "CONTAINS", doc.add("Deb-"+d.name, p))
	}
	if c.envoy != nil {
		p := spdxPackage{
			Name:     "envoy",
			Version:  c.envoy.version,
			Supplier: "Organization: " + c.envoy.name,
			Purpose:  "APPLICATION",
			Declared: licenses,
		}
		p.refer("pkg:pypi/" + c.envoy.name + "@" + c.envoy.version)
		p.References = append(
			p.References,
			spdxRef{"SECURITY", "cpe23Type", "cpe:2.3:a:envoyproxy:envoy:" + c.envoy.version + ":*:*:*:*:*:*:*"},
		)
		p.sum(c.envoy.sha256)
		doc.relate(root, "CONTAINS", doc.add("Wheel-"+c.envoy.name, p))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(doc)
	return out.Bytes(), err
}

// debianVersion is the version number of the Debian release in the lock.
const debianVersion = "12"

// modules lists the modules of the program from its build information, with replacements, and the standard library.
func modules(build *debug.BuildInfo) []debug.Module {
	out := []debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(strings.Fields(build.GoVersion)[0], "go")}}
	for _, m := range build.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		out = append(out, *m)
	}
	return out
}

func (s *spdx) add(id string, p spdxPackage) string {
	p.ID = "SPDXRef-" + identifier(id)
	for _, field := range []*string{&p.Download, &p.Concluded, &p.Declared, &p.Copyright} {
		if *field == "" {
			*field = "NOASSERTION"
		}
	}
	s.Packages = append(s.Packages, p)
	return p.ID
}

func (s *spdx) relate(from, how, to string) {
	s.Relationships = append(s.Relationships, spdxRelation{from, how, to})
}

func (p *spdxPackage) refer(purl string) {
	p.References = append(p.References, spdxRef{"PACKAGE-MANAGER", "purl", purl})
}

func (p *spdxPackage) sum(sha256 string) {
	p.Checksums = append(p.Checksums, spdxChecksum{"SHA256", sha256})
}

// identifier replaces the characters that SPDX does not allow in identifiers: all except letters, digits, "." and
// "-".
func identifier(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' {
			return c
		}
		return '-'
	}, s)
}

// sbomFile is the file name of the SBOM.
func (r recipe) sbomFile(folder, arch string) string {
	return path.Join(folder, fmt.Sprintf("%s-linux-%s.spdx.json", r.name, arch))
}
