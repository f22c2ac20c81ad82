package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// page is the metadata of a page of a list.
type page struct {
	version uint64
	next    string
}

// page reads a page of a list, and calls item with the JSON of each object.
func (s *source) page(ctx context.Context, query url.Values, item func([]byte) error) (page, error) {
	ctx, cancel := context.WithTimeout(ctx, s.kind.options.RequestTimeout)
	defer cancel()
	body, err := s.get(ctx, query)
	if err != nil {
		return page{}, err
	}
	defer body.Close()
	var metadata metav1.ListMeta
	reader := &limitedReader{from: body, limit: s.kind.options.MaxObjectBytes}
	decoder := json.NewDecoder(reader)
	if err := expect(decoder, json.Delim('{')); err != nil {
		return page{}, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return page{}, err
		}
		switch key {
		case "metadata":
			err = decoder.Decode(&metadata)
		case "items":
			err = s.items(decoder, reader, item)
		default:
			var ignored json.RawMessage
			err = decoder.Decode(&ignored)
		}
		if err != nil {
			return page{}, err
		}
	}
	if err := expect(decoder, json.Delim('}')); err != nil {
		return page{}, err
	}
	at, err := version.Number(metadata.ResourceVersion)
	if err != nil {
		return page{}, fmt.Errorf("metadata.resourceVersion of the list: %w", err)
	}
	return page{version: at, next: metadata.Continue}, nil
}

func (s *source) items(decoder *json.Decoder, reader *limitedReader, item func([]byte) error) error {
	first, err := decoder.Token()
	if err != nil || first == nil {
		return err // Some servers have null in place of an empty array.
	}
	if first != json.Delim('[') {
		return errors.New("items is not an array")
	}
	var raw json.RawMessage
	for i := 0; decoder.More(); i++ {
		reader.reset()
		if err := decoder.Decode(&raw); err != nil {
			return err
		}
		if err := item(raw); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return expect(decoder, json.Delim(']'))
}

func expect(decoder *json.Decoder, want json.Delim) error {
	if t, err := decoder.Token(); err != nil {
		return err
	} else if t != want {
		return fmt.Errorf("the list has %v where %v is expected", t, want)
	}
	return nil
}

// watch applies the events of one watch until it ends. A clean end is not an error.
func (s *source) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(s.kind.options.RequestTimeout, func() {
		cancel(errors.New("the member sent no event and no bookmark in time"))
	})
	defer idle.Stop()
	query := url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"},
		"resourceVersion": {strconv.FormatUint(s.position(), 10)},
		"timeoutSeconds":  {s.watchSeconds(ctx, cancel)},
	}
	body, err := s.get(ctx, query)
	if err != nil {
		return s.ended(ctx, err)
	}
	defer body.Close()
	s.kind.connected(s)
	reader := &limitedReader{from: body, limit: s.kind.options.MaxObjectBytes}
	decoder := json.NewDecoder(reader)
	for {
		idle.Reset(s.kind.options.IdleTimeout)
		reader.reset()
		var e struct {
			Type   watch.EventType
			Object json.RawMessage
		}
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		} else if err != nil {
			return s.ended(ctx, err)
		}
		if err := s.event(e.Type, e.Object); err != nil {
			return err
		}
	}
}

// ended returns the reason for the end of a watch.
func (s *source) ended(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errProbe):
		return nil
	case cause != nil:
		return cause
	}
	return err
}

// errProbe ends a watch, so that a short one follows.
var errProbe = errors.New("a request waits for a newer version")

// watchSeconds is the length of a watch. Members send a bookmark two seconds before the end of a watch, so that a short
// watch answers requests that wait for a version. Such a request ends a long watch.
func (s *source) watchSeconds(ctx context.Context, cancel context.CancelCauseFunc) string {
	select {
	case <-s.probe:
		return "3"
	default:
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-s.probe:
			s.short.Store(true)
			cancel(errProbe)
		}
	}()
	if s.short.Swap(false) {
		return "3"
	}
	return strconv.Itoa(300 + time.Now().Nanosecond()%300)
}

func (s *source) event(kind watch.EventType, raw []byte) error {
	switch kind {
	case watch.Added, watch.Modified, watch.Deleted:
		o, err := ingest(s.kind.info, s.cluster, s.texts, raw)
		if err != nil {
			if kind == watch.Deleted {
				return fmt.Errorf("%w: %w", errRelist, err)
			}
			s.kind.rejectEvent(s, newMalformed(raw, err))
			return nil
		}
		if !s.includes(o) {
			return s.kind.progress(s, o.version)
		}
		return s.kind.event(s, o, kind == watch.Deleted)
	case watch.Bookmark:
		var bookmark metav1.PartialObjectMetadata
		if err := json.Unmarshal(raw, &bookmark); err != nil {
			return fmt.Errorf("BOOKMARK event: %w", err)
		}
		at, err := version.Number(bookmark.ResourceVersion)
		if err != nil {
			return fmt.Errorf("BOOKMARK event: metadata.resourceVersion: %w", err)
		}
		return s.kind.progress(s, at)
	case watch.Error:
		var status metav1.Status
		if err := json.Unmarshal(raw, &status); err != nil {
			return fmt.Errorf("ERROR event: %w", err)
		}
		return &apierrors.StatusError{ErrStatus: status}
	}
	return fmt.Errorf("event type %.20q is not supported", kind)
}

// get sends a request, and returns the body of a response with status 200.
func (s *source) get(ctx context.Context, query url.Values) (io.ReadCloser, error) {
	address := strings.TrimSuffix(s.member.Host, "/") + s.path() + "?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := s.member.Client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil && status.Kind == "Status" {
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	return nil, apierrors.NewGenericServerResponse(response.StatusCode, http.MethodGet,
		s.kind.info.Resource.GroupResource(), "", fmt.Sprintf("%.200s", text), 0, true)
}

// limitedReader limits the bytes between two resets.
type limitedReader struct {
	from        io.Reader
	limit, read int
}

func (r *limitedReader) reset() { r.read = 0 }

func (r *limitedReader) Read(p []byte) (int, error) {
	if r.read > r.limit {
		return 0, fmt.Errorf("an object has more than %d bytes", r.limit)
	}
	n, err := r.from.Read(p)
	r.read += n
	return n, err
}
