package requestrates

import (
	"testing"
	"time"
)

type counter struct{}

func (counter) RequestCounter() (metric, statusLabel string) { return "requests_xx", "class" }

const before = `# TYPE requests_xx counter
requests_xx{class="2",anymesh_service="a.shop",anymesh_route="r1"} 100
requests_xx{class="5",anymesh_service="a.shop",anymesh_route="r1"} 7
requests_xx{class="2",anymesh_service="b.shop",anymesh_route="r"} 50
`

const after = `# TYPE requests_xx counter
requests_xx{class="2",anymesh_service="a.shop",anymesh_route="r1"} 140
requests_xx{class="2",anymesh_service="a.shop",anymesh_route="r2"} 5
requests_xx{class="5",anymesh_service="a.shop",anymesh_route="r1"} 12
requests_xx{class="2",anymesh_service="b.shop",anymesh_route="r"} 10
# TYPE other counter
other 1
`

func TestRates(t *testing.T) {
	parse := func(text string) Counts {
		t.Helper()
		c, err := Parse([]byte(text), counter{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	got := Between(parse(before), parse(after), 5*time.Second)
	want := map[string]Rate{"a.shop": {10, 1}, "b.shop": {2, 0}} // b restarted
	for service, rate := range want {
		if got[service] != rate {
			t.Errorf("%s: got %+v, want %+v", service, got[service], rate)
		}
	}
	if text := got["a.shop"].String(); text != "10 req/s, 10% failed" {
		t.Errorf("got %q", text)
	}
	if _, err := Parse([]byte("not metrics {"), counter{}); err == nil {
		t.Error("no error")
	}
}
