package delivery_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// take returns the changes that wait for a subscriber; none is the zero value.
func take(t *testing.T, s *sidecar.Subscription) sidecar.Changes {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := s.Next(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return c
}

// Subscribers of a driver get the changes of the workloads that have its pods, and those of destinations.
func TestSubscribersGetChanges(t *testing.T) {
	p := newDriverPair(t)
	first, second := p.Drivers[0].Broker().Subscribe(), p.Drivers[1].Broker().Subscribe()
	check := func(when string, wantFirst, wantSecond sidecar.Changes) {
		t.Helper()
		if got := take(t, first); !reflect.DeepEqual(got, wantFirst) {
			t.Errorf("%s: default driver: got %+v, want %+v", when, got, wantFirst)
		}
		if got := take(t, second); !reflect.DeepEqual(got, wantSecond) {
			t.Errorf("%s: second driver: got %+v, want %+v", when, got, wantSecond)
		}
	}
	none, all := sidecar.Changes{}, sidecar.Changes{All: true}
	of := func(keys ...model.Key) sidecar.Changes { return sidecar.Changes{Workloads: keys} }
	check("before the first change", none, none)
	p.set(t, shop)
	check("start", all, all)
	p.set(t, podOf("front", "f2", "second"))
	check("first pod of the second driver", of(front), of(front))
	p.set(t, strings.Replace(shop, "back.example", "elsewhere.example", 1))
	to := []model.Key{{Mesh: "m", Name: "back_a_http_80"}}
	moved := sidecar.Changes{Workloads: []model.Key{front}, Destinations: to}
	check("host name of back", moved, moved)
	p.remove(t, podOf("front", "f2", "second"))
	check("last pod of the second driver", of(front), of(front))
	second.Unsubscribe()
	p.set(t, shop)
	if _, err := second.Next(t.Context()); !errors.Is(err, sidecar.ErrUnsubscribed) {
		t.Errorf("after the end: error %v", err)
	}
}

// A driver that delivers configuration itself has findings, and publishes nothing.
func TestReportOnly(t *testing.T) {
	d := delivery.New(slog.New(slog.DiscardHandler), delivery.Class{Name: "own", Default: true}, func() {})
	d.ReportOnly(limitedDriver{unsupported: "listener.http", findings: []model.Finding{
		{Code: model.CodeNotSupported, Text: "own finding"},
	}})
	e := engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{}, d.Deliver)
	d.Connect(e, nil)
	for _, o := range objects(t, shop) {
		e.Set(o)
	}
	e.Sync()
	got := texts(d.Findings())
	for _, want := range []string{"own finding", "driver own does not support listener.http"} {
		if !strings.Contains(got, want) {
			t.Errorf("no finding %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "cannot render") {
		t.Errorf("got findings\n%s", got)
	}
}

// Several drivers share the server of host names.
func TestClassWithOthers(t *testing.T) {
	class := delivery.Class{Name: "one, two", Others: []string{"one", "two"}}
	for pod, want := range map[string]bool{"one": true, "two": true, "three": false, "": false} {
		if class.Has(pod) != want || class.Serves([]string{pod}) != want {
			t.Errorf("class %q: want %v", pod, want)
		}
	}
}
