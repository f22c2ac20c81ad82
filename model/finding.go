package model

import (
	"cmp"
	"slices"
	"strings"
)

// Severity is the severity of a finding.
type Severity string

const (
	// Error means that a part of the object is not served.
	Error Severity = "Error"
	// Warning means that the object is served, but the mesh does not honor all of its fields.
	Warning Severity = "Warning"
	// Info means that no action is required.
	Info Severity = "Info"
)

// Finding is a problem or a remark about a user's object. Status conditions, events, webhook responses and lint output
// show findings.
type Finding struct {
	Object   ObjectRef `json:"object"`
	Path     string    `json:"path,omitempty"`
	Code     Code      `json:"code"`
	Severity Severity  `json:"severity"`
	Text     string    `json:"text"`
}

// NewFinding creates a finding about the field of an origin, with the severity of its code.
func NewFinding(at Origin, code Code, text string) Finding {
	return Finding{Object: at.Object(), Path: at.Path, Code: code, Severity: code.Severity(), Text: text}
}

// String returns one line: severity, code, object, field and text.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(string(f.Severity) + " " + string(f.Code) + " " + f.Object.String())
	if f.Path != "" {
		b.WriteString(" " + f.Path)
	}
	b.WriteString(": " + f.Text)
	return b.String()
}

// SortFindings sorts findings into canonical order and removes duplicates.
func SortFindings(fs []Finding) []Finding {
	slices.SortFunc(fs, Finding.Compare)
	return slices.Compact(fs)
}

// Compare orders findings by object, field, code and text.
func (f Finding) Compare(o Finding) int {
	return firstNonZero(f.Object.Compare(o.Object), strings.Compare(f.Path, o.Path),
		cmp.Compare(f.Code, o.Code), strings.Compare(f.Text, o.Text), cmp.Compare(f.Severity, o.Severity))
}
