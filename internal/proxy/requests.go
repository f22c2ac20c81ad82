package proxy

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/proxy/accesslog"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/httpforward"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/session"
)

// requestName returns the name of a request in the list of sessions.
func requestName(r *httpforward.Request) string {
	return fmt.Sprintf("%s-%d", sessionName("HTTP", r.Client, r.Local), r.Number)
}

// requestDump returns a request as a session.
func (l *listener) requestDump(r *httpforward.Request, status string) session.Dump {
	spec := l.current()
	at := r.Begun.UTC().Format(time.RFC3339Nano)
	d := session.Dump{
		Name: requestName(r), Metadata: r.Metadata,
		Source:      session.StageDump{Origin: spec.Name, Listener: &spec.Spec, Status: "READY"},
		Destination: session.StageDump{Origin: r.Cluster, Status: "READY"},
		Ingress:     []session.StageDump{}, Egress: []session.StageDump{}, Status: status,
		Events: []session.Event{{Event: "INIT", Timestamp: at}, {Event: "LOOKUP SUCCESS", Timestamp: at}},
	}
	if r.Cluster == "" {
		d.Destination.Status = "PENDING"
	}
	if r.Endpoint != "" {
		d.Destination.Endpoint = &session.EndpointDump{Name: r.Endpoint}
	}
	if status == "DESTROYED" {
		d.Source.Status, d.Destination.Status = "END", "END"
		d.Events = append(d.Events, session.Event{
			Event: "END", Timestamp: r.Begun.Add(r.Took).UTC().Format(time.RFC3339Nano), Message: fmt.Sprintf("status %d", r.Status),
		})
	}
	return d
}

// requests returns the HTTP requests that are served now.
func (p *Proxy) requests() []session.Dump {
	p.mu.Lock()
	all := make([]*listener, 0, len(p.listeners))
	for _, l := range p.listeners {
		all = append(all, l)
	}
	p.mu.Unlock()
	var out []session.Dump
	for _, l := range all {
		if l.http == nil {
			continue
		}
		for _, r := range l.http.Requests() {
			out = append(out, l.requestDump(r, "CONNECTED"))
		}
	}
	slices.SortFunc(out, func(a, b session.Dump) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// request returns the request of a name that is served now; nil if there is none.
func (p *Proxy) request(name string) (*httpforward.Request, *listener) {
	if !strings.HasPrefix(name, "HTTP:") {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.listeners {
		if l.http == nil {
			continue
		}
		for _, r := range l.http.Requests() {
			if requestName(r) == name {
				return r, l
			}
		}
	}
	return nil, nil
}

// ended returns what to do with requests that have ended; nil if nothing.
func (l *listener) ended() func(*httpforward.Request) {
	if l.proxy.access.Load() == nil && l.track.Load() == 0 {
		return nil
	}
	return l.requestEnded
}

func (l *listener) requestEnded(r *httpforward.Request) {
	spec := l.current()
	if log := l.proxy.access.Load(); log != nil {
		log.Write(&accesslog.Entry{
			Time: r.Begun, Listener: spec.Name, Protocol: string(spec.Spec.Protocol), Session: requestName(r),
			Client: clientOf(r.Metadata), Method: r.Method, Host: r.Host, Path: r.Target, Status: r.Status,
			Cluster: r.Cluster, Endpoint: r.Endpoint, Retries: r.Retries, Received: r.Received, Sent: r.Sent,
			Seconds: r.Took.Seconds(), Trace: r.Trace,
			Address: r.Address, Version: r.Version, Flags: r.Flags, Metadata: r.Metadata,
			Request: r.SentField, Response: r.ReplyField,
		})
	}
	if track := l.track.Load(); track > 0 {
		l.proxy.sessions.Keep(l.requestDump(r, "DESTROYED"), spec.Name, time.Duration(track)*time.Second)
	}
}

// clientOf returns the address of the client in the metadata; empty if there is none.
func clientOf(meta any) string {
	ip := metadata.At(meta, metadata.Path{"IP", "src_addr"})
	for _, protocol := range []string{"TCP", "UDP"} {
		if port := metadata.At(meta, metadata.Path{protocol, "src_port"}); ip.Kind == metadata.String && port.Kind == metadata.Number {
			return net.JoinHostPort(ip.Text, strconv.Itoa(int(port.Num)))
		}
	}
	return ip.Text
}

// sessionEnded writes the access log.
func (p *Proxy) sessionEnded(s *session.Session) {
	log := p.access.Load()
	if log == nil {
		return
	}
	d := s.Dump()
	e := &accesslog.Entry{
		Time: s.Begun, Listener: s.Listener, Session: d.Name, Client: clientOf(d.Metadata), Cluster: d.Destination.Origin,
		Received: s.Received.Load(), Sent: s.Sent.Load(), Seconds: time.Since(s.Begun).Seconds(),
	}
	e.Metadata, _ = d.Metadata.(map[string]any) // sessions may replace it by another value
	if s.Spec != nil {
		e.Protocol = string(s.Spec.Protocol)
	}
	if d.Destination.Endpoint != nil {
		e.Endpoint, e.Address = d.Destination.Endpoint.Name, d.Destination.Endpoint.Address
	}
	for _, one := range d.Events {
		if one.Event == "ERROR" {
			e.Error = one.Message
		}
	}
	log.Write(e)
}

// openAccessLog opens the access log of the settings, if it is another one than the current one.
func (p *Proxy) openAccessLog(old, a config.Admin) error {
	if a.SameLog(&old) {
		return nil
	}
	var log *accesslog.Log
	if a.AccessLogPath != "" {
		var err error
		if log, err = accesslog.Open(&a); err != nil {
			return fmt.Errorf("access_log_path: %w", err)
		}
	}
	if before := p.access.Swap(log); before != nil {
		before.Close()
	}
	return nil
}
