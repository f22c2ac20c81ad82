package aggregate

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"anymesh.dev/anymesh/internal/aggregate/cache"
)

// read answers a GET, LIST or WATCH from the cache.
func (s *Server) read(w http.ResponseWriter, c call, kind *registered, clusters []string) {
	if err := c.acceptable(); err != nil {
		c.fail(w, err)
		return
	}
	var err error
	switch c.info.Verb {
	case "get":
		err = s.get(w, c, kind, clusters)
	case "list":
		err = s.list(w, c, kind, clusters)
	default:
		err = s.watch(w, c, kind, clusters)
	}
	if err != nil {
		c.fail(w, err)
	}
}

func (s *Server) get(w http.ResponseWriter, c call, kind *registered, clusters []string) error {
	o, others, err := s.cache.Get(c.Context(), c.resource(), c.info.Namespace, c.info.Name, cache.GetOptions{
		ResourceVersion: c.URL.Query().Get("resourceVersion"), Clusters: clusters,
	})
	if err != nil {
		return err
	}
	if len(others) > 0 {
		w.Header().Add("Warning", fmt.Sprintf("299 - %q", fmt.Sprintf("clusters %s have objects of this name, too; this is "+
			"the one of cluster %s", strings.Join(others, ", "), o.Cluster())))
	}
	var text []byte
	switch {
	case c.format.protobuf:
		text, err = newProtobufEncoder(kind, c.format).object(o)
	case c.format.form == formTable:
		text, err = s.tables.object(c, kind, o)
	case c.format.form == formPartial:
		text = o.AppendPartialJSON(nil)
	default:
		text = o.AppendJSON(nil)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", c.format.mediaType())
	content := newBody(w, c.Request)
	defer content.release()
	if _, err := content.Write(text); err == nil {
		_ = content.Close() // An error means that the client is gone.
	}
	return nil
}

func (s *Server) list(w http.ResponseWriter, c call, kind *registered, clusters []string) error {
	query := c.URL.Query()
	selection, err := selectionOf(c, query, clusters)
	if err != nil {
		return err
	}
	if err := validateOptions(query, false); err != nil {
		return err
	}
	limit, err := number(query, "limit")
	if err != nil {
		return err
	}
	l, err := s.cache.List(c.Context(), c.resource(), cache.ListOptions{
		Selection: selection, ResourceVersion: query.Get("resourceVersion"),
		ResourceVersionMatch: metav1.ResourceVersionMatch(query.Get("resourceVersionMatch")),
		Limit:                limit, Continue: query.Get("continue"),
	})
	if err != nil {
		return err
	}
	if c.format.protobuf {
		release, err := s.inFlight.convert()
		if err != nil {
			return err
		}
		defer release()
	}
	if len(l.Missing) > 0 {
		w.Header().Add("Warning", fmt.Sprintf("299 - %q", "the list has no objects of the clusters "+
			strings.Join(l.Missing, ", ")+", which were never reached"))
	}
	for _, stale := range l.Stale {
		w.Header().Add("Warning", fmt.Sprintf("299 - %q", fmt.Sprintf("the objects of cluster %s are those of %s, when the "+
			"connection to it was lost", stale.Cluster, stale.Since.UTC().Format(time.RFC3339))))
	}
	var chunks net.Buffers
	if c.format.protobuf {
		if chunks, err = newProtobufEncoder(kind, c.format).list(c.Context(), kind, l); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", c.format.mediaType())
	content := newBody(w, c.Request)
	defer content.release()
	to := bufio.NewWriter(content)
	switch {
	case c.format.protobuf:
		_, err = chunks.WriteTo(to)
	case c.format.form == formTable:
		err = s.tables.list(to, c, kind, l)
	case c.format.form == formPartial:
		_, err = l.WritePartialTo(to)
	default:
		_, err = l.WriteTo(to)
	}
	if err == nil {
		err = to.Flush()
	}
	if err == nil {
		err = content.Close()
	}
	if err != nil {
		// The status line is sent: only a broken connection tells the client that the list is not complete.
		panic(http.ErrAbortHandler)
	}
	return nil
}

// defaultWatchTimeout ends watches whose client sets no timeout.
const defaultWatchTimeout = 30 * time.Minute

func (s *Server) watch(w http.ResponseWriter, c call, kind *registered, clusters []string) error {
	query := c.URL.Query()
	selection, err := selectionOf(c, query, clusters)
	if err != nil {
		return err
	}
	if err := validateOptions(query, true); err != nil {
		return err
	}
	options := cache.WatchOptions{
		Selection: selection, ResourceVersion: query.Get("resourceVersion"), Timeout: defaultWatchTimeout,
		ResourceVersionMatch: metav1.ResourceVersionMatch(query.Get("resourceVersionMatch")),
		ByCluster:            c.format.form == formTable, // rows are for people
	}
	if options.AllowWatchBookmarks, err = boolean(query, "allowWatchBookmarks"); err != nil {
		return err
	}
	if query.Has("sendInitialEvents") {
		send, err := boolean(query, "sendInitialEvents")
		if err != nil {
			return err
		}
		options.SendInitialEvents = &send
	}
	seconds, err := number(query, "timeoutSeconds")
	if err != nil {
		return err
	}
	if seconds > 0 && seconds < int64(defaultWatchTimeout/time.Second)*48 {
		options.Timeout = time.Duration(seconds) * time.Second
	}
	events, err := s.cache.Watch(c.Context(), c.resource(), options)
	if err != nil {
		return err
	}
	defer events.Stop()
	ctx, release := s.watches.add(c.Context(), c.resource(), s.reviewOf(c, clusters))
	defer release()
	encode, current, media := s.tables.events(c, kind, c.format.form), func() {}, c.format.mediaType()
	if c.format.protobuf {
		encode, media = newProtobufEncoder(kind, c.format).event, protobufWatch
		if events.Initial() {
			if current, err = s.inFlight.convert(); err != nil {
				return err
			}
			defer current()
			// A client that reads slowly must not keep the slot.
			defer time.AfterFunc(s.readTimeout, current).Stop()
		}
	}
	if wsstream.IsWebSocketRequest(c.Request) {
		socket, connected, err := openWebSocket(ctx, w, c.Request, c.format.protobuf)
		if err != nil {
			s.config.Log.Debug(err.Error()) // the client has its answer
			return nil
		}
		defer socket.close()
		w, ctx = socket, connected
	} else {
		w.Header().Set("Content-Type", media)
	}
	onSlow := func() {
		if c.ProtoMajor == 2 { // else the connection is counted
			s.metrics.refuse(reasonSlowClient)
		}
	}
	s.stream(ctx, newWatchWriter(w, s.readTimeout, onSlow), events, encode, current)
	return nil
}

func selectionOf(c call, query url.Values, clusters []string) (cache.Selection, error) {
	selection := cache.Selection{Namespace: c.info.Namespace, Clusters: clusters}
	var err error
	if selection.Labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return selection, apierrors.NewBadRequest("labelSelector: " + err.Error())
	}
	if selection.Fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return selection, apierrors.NewBadRequest("fieldSelector: " + err.Error())
	}
	return selection, nil
}

func number(query url.Values, name string) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("%s: %.40q is not a number of at least 0", name, text))
	}
	return n, nil
}

func boolean(query url.Values, name string) (bool, error) {
	text := query.Get(name)
	if text == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, apierrors.NewBadRequest(fmt.Sprintf("%s: %.40q is neither true nor false", name, text))
	}
	return b, nil
}
