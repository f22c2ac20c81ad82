package version

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The example of the design document, which clients may have stored.
const example = "eyJjbHVzdGVyMSI6IjEyMzQiLCJjbHVzdGVyMiI6IjU2NzgifQ"

func TestPlainFormIsAccepted(t *testing.T) {
	v, err := Parse(example)
	if err != nil {
		t.Fatal(err)
	}
	want := New(Component{Cluster: "cluster2", Version: 5678}, Component{Cluster: "cluster1", Version: 1234})
	if d := cmp.Diff(want, v); d != "" {
		t.Error(d)
	}
	if v.String() != example {
		t.Errorf("text changes to %s", v)
	}
	if rv, err := ForCluster(example, "cluster2", "0123abcd"); rv != "5678" || err != nil {
		t.Errorf("ForCluster = %s, %v", rv, err)
	}
}

func TestIdentityAndPartialFormsAreKept(t *testing.T) {
	c := Component{Cluster: "c1", Identity: Identity("6f2b"), Version: 7}
	object := Object(c)
	if string(AppendObject(nil, c)) != object {
		t.Error("AppendObject and Object differ")
	}
	v, err := Parse(object)
	if err != nil || !v.Partial || v.Components[0] != c {
		t.Fatalf("%+v, %v", v, err)
	}
	if list := New(c).String(); list == object {
		t.Error("a list of one cluster has the version of an object, so that clients would resume from it")
	}
	if _, err := ForCluster("7", "c1", ""); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if _, err := ForCluster(object, "c2", ""); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if _, err := ForCluster(object, "c1", "ffffffff"); !errors.Is(err, ErrRebuilt) {
		t.Error(err)
	}
}

func TestMalformedVersionsAreErrors(t *testing.T) {
	raw := base64.RawURLEncoding.EncodeToString
	for _, text := range []string{
		"1234", "not base64!", example + "\n", example + "=", raw([]byte("[]")), raw([]byte("{} ")),
		raw([]byte(`{"c":1}`)), raw([]byte(`{"c":"01"}`)), raw([]byte(`{"c":"-1"}`)), raw([]byte(`{"c":"0"}`)),
		raw([]byte(`{"c":"1","c":"2"}`)), raw([]byte(`{"c":"1"} x`)), raw([]byte(`{"c":"1"}{}`)),
		raw([]byte(`{"c":"1@xyz"}`)), raw([]byte(`{"c\n":"1"}`)), raw([]byte(`{"a":"1+","b":"2"}`)),
		raw([]byte(`{"c":"18446744073709551616"}`)), strings.Repeat("a", MaxLength+1), raw([]byte(`{"c":"1"`)),
	} {
		if v, err := Parse(text); err == nil {
			t.Errorf("Parse(%.40q) = %v", text, v)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Add(Object(Component{Cluster: "c", Identity: "0123abcd", Version: 9}))
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(v.String())
		if err != nil || !cmp.Equal(v, again) {
			t.Errorf("%q: %+v becomes %+v, %v", text, v, again, err)
		}
	})
}
