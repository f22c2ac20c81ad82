package appmesh_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/test/cases"
)

// testCase is a file of test/cases/appmesh, with the settings of this dialect.
type testCase struct {
	settings appmesh.Settings
	objects  []client.Object
}

const caseFolder = "appmesh/"

func caseFiles(testing.TB) []string { return cases.Names("appmesh") }

func readCase(t testing.TB, path string) testCase {
	t.Helper()
	c, err := cases.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	c.Settings.TrustDomain = cmp.Or(c.Settings.TrustDomain, dialect.DefaultTrustDomain)
	d, err := appmesh.Dialect{}.Configure(c.Settings)
	if err != nil {
		t.Fatal(err)
	}
	return testCase{settings: d.(appmesh.Dialect).Settings, objects: c.Objects}
}

// decode strictly decodes the documents of a YAML stream.
func decode(t testing.TB, text []byte) []client.Object {
	t.Helper()
	objects, err := cases.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// decodeManifests decodes manifests. The default of apiVersion is the API of the dialect.
func decodeManifests(t testing.TB, manifests []string) []client.Object {
	t.Helper()
	var documents []string
	for _, text := range manifests {
		if !strings.Contains(text, "apiVersion") {
			text = strings.Replace(text, "{kind", "{apiVersion: appmesh.k8s.aws/v1beta2, kind", 1)
		}
		documents = append(documents, text)
	}
	return decode(t, []byte(strings.Join(documents, "\n---\n")))
}

// decodeByAge is decodeManifests with objects that are each a minute younger than the one before.
func decodeByAge(t testing.TB, manifests []string) []client.Object {
	t.Helper()
	objects := decodeManifests(t, manifests)
	for i, o := range objects {
		o.SetCreationTimestamp(metav1.NewTime(time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)))
	}
	return objects
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func asText(findings []model.Finding) []byte {
	var b bytes.Buffer
	for _, f := range findings {
		b.WriteString(f.String() + "\n")
	}
	if b.Len() == 0 {
		return []byte{}
	}
	return b.Bytes()
}
