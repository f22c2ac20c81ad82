package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listCell is a sort of list. All pages are read.
type listCell struct {
	name, accept string
	query        url.Values
	limit        int
	// clients is the number of concurrent lists; rounds is how often each client lists.
	clients, rounds int
	// rows is the number of objects that the list has.
	rows int
}

const (
	asTable   = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asPartial = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

func listCells(pods int) []listCell {
	return []listCell{
		{name: "full", clients: 1, rounds: 5, rows: pods},
		{name: "full, 8 at once", clients: 8, rounds: 1, rows: pods},
		{name: "full, 32 at once", clients: 32, rounds: 1, rows: pods},
		{name: "pages of 500", limit: 500, clients: 1, rounds: 3, rows: pods},
		{name: "label of 1 %", query: url.Values{"labelSelector": {"rare=yes"}}, clients: 1, rounds: 40,
			rows: pods / rareEvery},
		{name: "spec.nodeName", query: url.Values{"fieldSelector": {"spec.nodeName=node-7"}}, clients: 1, rounds: 40,
			rows: pods / nodeCount},
		{name: "Table", accept: asTable, clients: 1, rounds: 2, rows: pods},
		{name: "metadata only", accept: asPartial, clients: 1, rounds: 3, rows: pods},
	}
}

// listResult is the cost of a list.
type listResult struct {
	// CPU is that of the server for one list, in seconds. The times are in milliseconds.
	CPU float64 `json:"cpu_s"`
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	// MB is the size of the answers. Peak is by how much the resident memory grew, in MB.
	MB   float64 `json:"mb"`
	Peak float64 `json:"peak_mb"`
	// Aborted counts the lists that kube-apiserver ended, because they took longer than its limit of a minute.
	Aborted int `json:"aborted,omitempty"`
}

// lists measures a sort of list.
func lists(ctx context.Context, t target, c listCell) (listResult, error) {
	clients := make([]*http.Client, c.clients)
	for i := range clients {
		var err error
		if clients[i], err = t.client(); err != nil {
			return listResult{}, err
		}
		// The connection and the authorization exist before.
		if _, err := fetch(ctx, clients[i], t.url+"/api/v1/pods?limit=1"); err != nil {
			return listResult{}, err
		}
		defer clients[i].CloseIdleConnections()
	}
	if err := t.resetPeak(); err != nil {
		return listResult{}, err
	}
	resident, _, err := t.resident()
	if err != nil {
		return listResult{}, err
	}
	before, err := t.cpu()
	if err != nil {
		return listResult{}, err
	}
	var r listResult
	var mutex sync.Mutex
	var times []float64
	var bytesRead int64
	var failed error
	var running sync.WaitGroup
	for _, client := range clients {
		running.Go(func() {
			for range c.rounds {
				begun := time.Now()
				n, rows, err := readList(ctx, client, t.url, c)
				took := time.Since(begun).Seconds() * 1000
				mutex.Lock()
				if err != nil && !t.strict && took > 60_000 {
					r.Aborted++
					mutex.Unlock()
					continue
				}
				if err == nil && rows != c.rows {
					err = fmt.Errorf("list %q of the %s has %d objects, not %d", c.name, t.name, rows, c.rows)
				}
				if err != nil {
					failed = err
				}
				times = append(times, took)
				bytesRead += n
				mutex.Unlock()
			}
		})
	}
	running.Wait()
	after, err := t.cpu()
	if err != nil {
		return listResult{}, err
	}
	_, peak, err := t.resident()
	n := float64(c.clients * c.rounds)
	r.CPU, r.MB, r.Peak = (after-before)/n, float64(bytesRead)/n/1e6, peak-resident
	if len(times) > 0 {
		r.P50, r.P99 = percentile(times, 50), percentile(times, 99)
	}
	if err == nil {
		err = failed
	}
	return r, err
}

// readList reads all pages, and counts the objects by a text that each of them has once.
func readList(ctx context.Context, c *http.Client, base string, cell listCell) (int64, int, error) {
	query := url.Values{}
	maps.Copy(query, cell.query)
	if cell.limit > 0 {
		query.Set("limit", strconv.Itoa(cell.limit))
	}
	var size int64
	rows := 0
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/pods?"+query.Encode(), nil)
		if err != nil {
			return 0, 0, err
		}
		request.Header.Set("Accept", "application/json")
		if cell.accept != "" {
			request.Header.Set("Accept", cell.accept)
		}
		response, err := c.Do(request)
		if err != nil {
			return 0, 0, err
		}
		counter := &rowCounter{}
		n, err := io.CopyBuffer(struct{ io.Writer }{counter}, response.Body, make([]byte, 64<<10))
		_ = response.Body.Close() // It was read.
		if err != nil {
			return 0, 0, err
		}
		if response.StatusCode != http.StatusOK {
			return 0, 0, fmt.Errorf("list %q: status %d", cell.name, response.StatusCode)
		}
		size += n
		rows += counter.rows
		token := continueToken(counter.start)
		if token == "" {
			return size, rows, nil
		}
		query.Set("continue", token)
	}
}

// rowCounter counts the annotation that each object has, and keeps the start of a list.
type rowCounter struct {
	start []byte
	carry []byte
	rows  int
}

var sequenceKey = []byte(`"` + sequence + `":"`)

func (r *rowCounter) Write(p []byte) (int, error) {
	if rest := 2048 - len(r.start); rest > 0 {
		r.start = append(r.start, p[:min(rest, len(p))]...)
	}
	edge := slices.Concat(r.carry, p[:min(len(sequenceKey)-1, len(p))])
	r.rows += bytes.Count(edge, sequenceKey) + bytes.Count(p, sequenceKey)
	end := p
	if len(p) < len(sequenceKey)-1 {
		end = edge
	}
	r.carry = bytes.Clone(end[max(0, len(end)-len(sequenceKey)+1):])
	return len(p), nil
}

// continueToken returns metadata.continue of a list, whose metadata is at the start.
func continueToken(start []byte) string {
	_, after, ok := bytes.Cut(start, []byte(`"metadata":`))
	if !ok {
		return ""
	}
	var metadata struct{ Continue string }
	if json.NewDecoder(bytes.NewReader(after)).Decode(&metadata) != nil {
		return ""
	}
	return metadata.Continue
}

// union returns the sequence of each pod of a server, from a full list.
func union(ctx context.Context, t target) (map[string]int, error) {
	c, err := t.client()
	if err != nil {
		return nil, err
	}
	defer c.CloseIdleConnections()
	text, err := fetch(ctx, c, t.url+"/api/v1/pods")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct {
				Name, Namespace string
				Annotations     map[string]string
			}
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	out := make(map[string]int, len(list.Items))
	for _, o := range list.Items {
		n, err := strconv.Atoi(o.Metadata.Annotations[sequence])
		if err != nil {
			return nil, err
		}
		out[o.Metadata.Namespace+"/"+o.Metadata.Name] = n
	}
	if len(out) != len(list.Items) {
		return nil, fmt.Errorf("the list of the %s has an object twice", t.name)
	}
	return out, nil
}

// equal is the oracle: it compares what a client has with the union.
func equal(who string, got, want map[string]int) error {
	for key, n := range want {
		if has, ok := got[key]; !ok || has != n {
			return fmt.Errorf("%s has pod %s at event %d (%t), the member at %d", who, key, has, ok, n)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d pods, the members have %d", who, len(got), len(want))
	}
	return nil
}

// checkTable checks that a Table can be decoded, and that each row has a cell of each column.
func checkTable(ctx context.Context, t target) error {
	c, err := t.client()
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url+"/api/v1/pods?limit=3", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", asTable)
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var table metav1.Table
	if err := json.NewDecoder(response.Body).Decode(&table); err != nil {
		return fmt.Errorf("a Table of the %s: %w", t.name, err)
	}
	if len(table.Rows) != 3 || table.Kind != "Table" || table.Continue == "" {
		return fmt.Errorf("a Table of the %s has %d rows of 3, kind %q", t.name, len(table.Rows), table.Kind)
	}
	for _, row := range table.Rows {
		if len(row.Cells) != len(table.ColumnDefinitions) || len(row.Object.Raw) == 0 {
			return fmt.Errorf("a row of the %s has %d cells and %d bytes", t.name, len(row.Cells), len(row.Object.Raw))
		}
	}
	return nil
}
