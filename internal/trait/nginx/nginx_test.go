package nginx_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"anymesh.dev/anymesh/internal/trait/nginx"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/providertest"
)

// location is a location of the configuration that ingress-nginx writes for a path.
type location struct {
	rule   string
	path   string
	target string
}

// locations returns the locations of the Ingresses of a Route as ingress-nginx orders them: longer paths first.
func locations(t *testing.T, route provider.Route) []location {
	t.Helper()
	var out []location
	regex := false
	for i, o := range (nginx.Provider{}).Render(route, &providertest.Cluster{}).Objects {
		var ingress networkingv1.Ingress
		if err := provider.Typed(o, &ingress); err != nil {
			t.Fatal(err)
		}
		path := ingress.Spec.Rules[0].HTTP.Paths[0]
		l := location{route.Rules[i].Name, path.Path, ingress.Annotations["nginx.ingress.kubernetes.io/rewrite-target"]}
		uses := ingress.Annotations["nginx.ingress.kubernetes.io/use-regex"] == "true"
		if uses != (*path.PathType == networkingv1.PathTypeImplementationSpecific) {
			t.Errorf("%s: path type %s, use-regex %t", l.rule, *path.PathType, uses)
		}
		regex = regex || uses
		out = append(out, l)
	}
	if !regex { // a prefix of path elements
		for i := range out {
			out[i].path = regexp.QuoteMeta(strings.TrimSuffix(out[i].path, "/")) + "(/|$)"
		}
	}
	slices.SortStableFunc(out, func(a, b location) int { return len(b.path) - len(a.path) })
	return out
}

// serve returns the rule that takes a request and the path that the backend sees, by the directives location and
// rewrite.
func serve(all []location, path string) (rule, backendPath string) {
	for _, l := range all {
		if !regexp.MustCompile("(?i)^" + l.path).MatchString(path) {
			continue
		}
		pattern := regexp.MustCompile("(?i)" + l.path)
		if found := pattern.FindStringSubmatchIndex(path); l.target != "" && found != nil {
			template := regexp.MustCompile(`\$(\d)`).ReplaceAllString(l.target, "$${$1}")
			return l.rule, string(pattern.ExpandString(nil, template, path, found))
		}
		return l.rule, path
	}
	return "", ""
}

// model is what a Route means: the rule with the longest path that is a prefix of the request's path elements takes
// it, and its path is replaced by the target.
func model(rules []provider.Rule, path string) (rule, backendPath string) {
	longest := -1
	for _, r := range rules {
		prefix := strings.TrimSuffix(r.PathPrefix(), "/")
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok || rest != "" && rest[0] != '/' || len(prefix) <= longest {
			continue
		}
		longest, rule, backendPath = len(prefix), r.Name, path
		if r.RewriteTarget == "" {
			continue
		}
		if backendPath = r.RewriteTarget; rest != "" {
			backendPath = strings.TrimSuffix(r.RewriteTarget, "/") + rest
		}
	}
	return rule, backendPath
}

func TestRewritesAndPrecedence(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	elements := []string{"a", "b", "ab", "a.b", "v1", "a~b"}
	randomPath := func() string {
		var out strings.Builder
		for range random.IntN(4) {
			out.WriteString("/" + elements[random.IntN(len(elements))])
		}
		return out.String()
	}
	rewritten := 0
	for range 500 {
		route := provider.Route{Namespace: "shop", Name: "web", Host: "shop.example.com"}
		var used []string
		for i := range 1 + random.IntN(5) {
			path := randomPath()
			if slices.Contains(used, path) {
				continue
			}
			used = append(used, path)
			targets := []string{"", "", "", "/", "/x", "/x/", "/v1", "/a/b"}
			route.Rules = append(route.Rules, provider.Rule{
				Name: fmt.Sprint("rule-", i), Path: path + []string{"", "/"}[random.IntN(2)],
				RewriteTarget: targets[random.IntN(len(targets))], Backend: provider.Backend{Service: "web", Port: 80},
			})
			if last := &route.Rules[len(route.Rules)-1]; last.Path == "" {
				last.Path = "/"
			}
		}
		all := locations(t, route)
		for range 20 {
			path := randomPath() + []string{"", "/", "x"}[random.IntN(3)]
			if !strings.HasPrefix(path, "/") {
				path = "/" + path
			}
			rule, seen := serve(all, path)
			wantRule, wantSeen := model(route.Rules, path)
			if rule != wantRule || seen != wantSeen {
				t.Fatalf("%s: %s sees %s, want %s and %s; rules %+v, locations %+v", path, rule, seen, wantRule, wantSeen,
					route.Rules, all)
			}
			if seen != path {
				rewritten++
			}
		}
	}
	if rewritten < 500 {
		t.Errorf("only %d paths were rewritten", rewritten)
	}
}

// ingress-nginx denies snippets, annotations with other characters, and timeouts that are not whole seconds.
func TestAnnotationsAreAccepted(t *testing.T) {
	route := provider.Route{Namespace: "shop", Name: "web", Host: "shop.example.com", Rules: []provider.Rule{{
		Name: "0", Path: "/", RewriteTarget: "/$host", ReadTimeout: 1, SendTimeout: time.Hour,
		Headers: []provider.Header{{Name: "A", Value: "b\"; evil"}}, Backend: provider.Backend{Service: "web", Port: 80},
	}}}
	result := (nginx.Provider{}).Render(route, &providertest.Cluster{})
	got := fmt.Sprint(result.Objects[0].GetAnnotations())
	const want = "map[nginx.ingress.kubernetes.io/proxy-read-timeout:1 nginx.ingress.kubernetes.io/proxy-send-timeout:3600]"
	if got != want || len(result.Unsupported) != 2 {
		t.Errorf("got %s, unsupported %v", got, result.Unsupported)
	}
}
