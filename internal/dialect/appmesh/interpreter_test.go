package appmesh_test

import (
	"fmt"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// TestInterpretationOfManifests interprets the manifests of colors.txtar for requests of front.
func TestInterpretationOfManifests(t *testing.T) {
	m, _ := appmesh.Dialect{}.Translate(readCase(t, caseFolder+"colors.txtar").objects)
	view, findings, ok := model.NewView(model.NewIndex(&m), model.Key{Mesh: "shop", Name: "front_shop"})
	if !ok || len(findings) != 1 || findings[0].Code != model.CodeAnyAddress {
		t.Fatalf("no view, or findings other than AnyAddress of database.shop: %v", findings)
	}
	const colors = "colors.shop.svc.cluster.local"
	for _, c := range []struct {
		name    string
		request model.Request
		want    string
	}{
		{"split by weight", get(colors, 8080, "/x"), "Forwarded split red_shop_http_8080=9 blue_shop_http_8080=1"},
		{"port in the host", get(colors+":8080", 8080, "/x"), "Forwarded split red_shop_http_8080=9 blue_shop_http_8080=1"},
		{"more conditions first", get(colors, 8080, "/x", model.Header{Name: "X-Group", Value: "insiders"}), "Forwarded insiders blue_shop_http_8080=1"},
		{"other value", get(colors, 8080, "/x", model.Header{Name: "X-Group", Value: "all"}), "Forwarded split red_shop_http_8080=9 blue_shop_http_8080=1"},
		{"priority first", get(colors, 8080, "/admin", model.Header{Name: "x-group", Value: "insiders"}), "Forwarded admin red_shop_http_8080=1"},
		{"plain string prefix", get(colors, 8080, "/administration"), "Forwarded admin red_shop_http_8080=1"},
		{"short name is not the host name", get("colors", 8080, "/x"), "NotFound"},
		{"not a backend of front", get("undeclared.shop", 8080, "/x"), "NotFound"},
		{"no listener of the router", get(colors, 80, "/x"), "Refused"},
		{"TCP", model.Request{Port: 3306, Protocol: model.TCP}, "Forwarded database_shop_tcp_3306 database_shop_tcp_3306=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := view.Decide(c.request)
			got := []string{string(d.Outcome)}
			if d.Route != "" {
				got = append(got, d.Route)
			}
			for _, target := range d.Targets {
				got = append(got, fmt.Sprintf("%s=%d", target.Destination, target.Weight))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %s, want %s", strings.Join(got, " "), c.want)
			}
		})
	}
}

func get(host string, port uint16, path string, headers ...model.Header) model.Request {
	return model.Request{Port: port, Protocol: model.HTTP, Host: host, Method: "GET", Path: path, Headers: headers}
}
