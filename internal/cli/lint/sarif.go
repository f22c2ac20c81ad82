package lint

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"anymesh.dev/anymesh/docs/findings"
	"anymesh.dev/anymesh/model"
)

// The subset of SARIF 2.1.0 (OASIS, 2020) that code hosting services use to annotate lines.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            string       `json:"id"`
		Short         sarifText    `json:"shortDescription"`
		URL           string       `json:"helpUri"`
		Help          sarifText    `json:"help"`
		Configuration sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
		// Markdown takes precedence over Text.
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// SARIF converts the report to SARIF for code scanning.
func (r *Report) SARIF(version string) any {
	run := sarifRun{Tool: sarifTool{Driver: sarifDriver{Name: "anymesh", Version: version}}, Results: []sarifResult{}}
	for _, c := range model.Codes {
		page, _ := findings.Page(string(c.Code)) // a test checks that every code has a page
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: string(c.Code), Short: sarifText{Text: c.Meaning}, URL: findings.URL(string(c.Code)), Help: sarifText{c.Remedy, page},
			Configuration: sarifDefault{level(c.Severity)},
		})
	}
	kinds := r.kinds()
	for _, f := range r.Findings {
		at := kinds.Field(f.Object, f.Path)
		location := sarifLocation{Logical: []sarifLogical{{at}}}
		if f.File != "" {
			location.Physical = &sarifPhysical{sarifArtifact{uri(f.File)}, sarifRegion{f.Line}}
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: string(f.Code), Level: level(f.Severity), Message: sarifText{Text: at + ": " + f.Text},
			Locations: []sarifLocation{location},
			RuleIndex: slices.IndexFunc(model.Codes, func(c model.CodeInfo) bool { return c.Code == f.Code }),
		})
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// uri is a file as a URI (RFC 3986): relative to the working directory if the file is below it.
func uri(file string) string {
	path := filepath.ToSlash(file)
	if filepath.IsAbs(file) {
		if folder, err := os.Getwd(); err == nil {
			if relative, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(relative) {
				return (&url.URL{Path: filepath.ToSlash(relative)}).String()
			}
		}
		return (&url.URL{Scheme: "file", Path: path}).String()
	}
	return (&url.URL{Path: path}).String()
}

func level(s model.Severity) string {
	switch s {
	case model.Error:
		return "error"
	case model.Warning:
		return "warning"
	}
	return "note"
}
