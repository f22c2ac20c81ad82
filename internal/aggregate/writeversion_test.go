package aggregate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
)

// TestIntegersInWrites guards optimistic writes of clients that get integers: the owner gets its own version, and the
// answer has the integer that lists and events have.
func TestIntegersInWrites(t *testing.T) {
	l := newLabWith(t, 2, Config{IntegerVersions: true})
	l.put(1, "p")
	got := l.wants(http.StatusOK, "", http.MethodGet, podsPath+"/p", "", "")
	for range 3 {
		before := decoded(t, got).ResourceVersion
		got = l.wants(http.StatusOK, "", http.MethodPut, podsPath+"/p", rewrite.JSON, got)
		now := decoded(t, got).ResourceVersion
		if n, err := resourceversion.CompareResourceVersion(before, now); err != nil || n >= 0 {
			t.Fatalf("version %s after %s: %v", now, before, err)
		}
		l.wants(http.StatusOK, `"`+now+`"`, http.MethodGet, podPath, "", "")
	}
	if body := string(last(t, l.members[1]).Body); strings.Contains(body, decoded(t, got).ResourceVersion) {
		t.Errorf("the member gets %s", body)
	}
	old := decoded(t, got).ResourceVersion
	patch := `{"metadata":{"resourceVersion":"` + old + `","annotations":{"a":"c"}}}`
	l.wants(http.StatusOK, "", http.MethodPatch, podsPath+"/p", rewrite.MergePatch, patch)
	l.wants(http.StatusConflict, "get the object again", http.MethodPatch, podsPath+"/p", rewrite.MergePatch, patch)
	l.wants(http.StatusConflict, "get the object again", http.MethodPut, podsPath+"/p", rewrite.JSON, got)
	l.wants(http.StatusConflict, "", http.MethodDelete, podsPath+"/p", rewrite.JSON, `{"preconditions":{"resourceVersion":"1001"}}`)
	l.wants(http.StatusOK, "", http.MethodPatch, podsPath+"/p?dryRun=All", rewrite.MergePatch, `{"metadata":{}}`)
	l.wants(http.StatusOK, "", http.MethodDelete, podsPath+"/p", "", "")
}

// TestIntegersOfAKindThatIsNoLongerCached guards against a watch of the control plane that begins in a distant future.
func TestIntegersOfAKindThatIsNoLongerCached(t *testing.T) {
	l := newLabWith(t, 1, Config{IntegerVersions: true})
	list := decoded(t, l.wants(http.StatusOK, "", http.MethodGet, podPath, "", ""))
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Node"})
	query := url.Values{"watch": {"true"}, "resourceVersion": {list.ResourceVersion}}.Encode()
	l.wants(http.StatusGone, "no longer cached", http.MethodGet, podPath+"?"+query, "", "")
}
