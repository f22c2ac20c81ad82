package dns

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/miekg/dns"

	"anymesh.dev/anymesh/test/poll"
)

// holding is a nameserver that replies when the returned function is called.
func holding(t *testing.T) (u *upstream, letGo func()) {
	t.Helper()
	held := make(chan struct{})
	u = newUpstream(t, func(w dns.ResponseWriter, in *dns.Msg) {
		<-held
		answerAll(w, in)
	})
	return u, func() { close(held) }
}

func TestQuestionsInFlightAreLimited(t *testing.T) {
	const limit = 3
	u, letGo := holding(t)
	s := start(t, testConfig(u.address), func(s *Server) { s.questions = make(chan struct{}, limit) })
	conn := connect(t, s, "udp")
	defer conn.Close()
	for range limit + 2 {
		if err := conn.WriteMsg(newQuestion("example.com", dns.TypeA)); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(t, "two questions are dropped", func() bool { return s.Counts().Dropped == 2 })

	t.Run("names in the table are answered beyond the limit", func(t *testing.T) {
		if out := ask(t, s, "udp", newQuestion("short", dns.TypeA)); len(out.Answer) != 1 {
			t.Errorf("got\n%s", out)
		}
	})
	t.Run("a TCP connection with a question beyond the limit is closed", func(t *testing.T) {
		tcp := connect(t, s, "tcp")
		defer tcp.Close()
		if err := tcp.WriteMsg(newQuestion("example.com", dns.TypeA)); err != nil {
			t.Fatal(err)
		}
		if out, err := tcp.ReadMsg(); err == nil {
			t.Errorf("got\n%s", out)
		}
	})
	t.Run("the others get their replies, and free their slots", func(t *testing.T) {
		letGo()
		for range limit {
			if _, err := conn.ReadMsg(); err != nil {
				t.Fatal(err)
			}
		}
		if out := ask(t, s, "tcp", newQuestion("example.com", dns.TypeA)); len(out.Answer) != 1 {
			t.Errorf("got\n%s", out)
		}
	})
}

func TestConnectionsAreLimited(t *testing.T) {
	s := start(t, testConfig())
	var open []*dns.Conn
	for range MaxConnections {
		conn := connect(t, s, "tcp")
		defer conn.Close()
		open = append(open, conn)
	}
	poll.Until(t, "all connections are accepted", func() bool { return len(s.connections) == MaxConnections })
	t.Run("the next one is closed", func(t *testing.T) {
		conn := connect(t, s, "tcp")
		defer conn.Close()
		if _, err := conn.Conn.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is open")
		}
	})
	t.Run("the others are served", func(t *testing.T) {
		for _, conn := range open {
			if err := conn.WriteMsg(newQuestion("short", dns.TypeA)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ReadMsg(); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("a new one is served when another ends", func(t *testing.T) {
		open[0].Close()
		poll.Until(t, "a slot is free", func() bool { return len(s.connections) < MaxConnections })
		ask(t, s, "tcp", newQuestion("short", dns.TypeA))
	})
}

func TestPipelinedQuestionsAreAnswered(t *testing.T) {
	u := newUpstream(t, answerAll)
	s := start(t, testConfig(u.address))
	conn := connect(t, s, "tcp")
	defer conn.Close()
	const questions = 3 * MaxPipelined
	want := map[uint16]string{}
	go func() {
		for i := range questions {
			m := newQuestion([]string{"short.", "example.com."}[i%2], dns.TypeA)
			m.Id = uint16(i)
			if err := conn.WriteMsg(m); err != nil {
				t.Errorf("writing question %d: %v", i, err)
				return
			}
		}
	}()
	for i := range questions {
		want[uint16(i)] = []string{"short.", "example.com."}[i%2]
	}
	for range questions {
		out, err := conn.ReadMsg()
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Answer) != 1 || out.Answer[0].Header().Name != want[out.Id] {
			t.Fatalf("want an answer for %q, got\n%s", want[out.Id], out)
		}
		delete(want, out.Id)
	}
}

func TestPipelinedQuestionsAreLimited(t *testing.T) {
	u, letGo := holding(t)
	s := start(t, testConfig(u.address))
	conn := connect(t, s, "tcp")
	defer conn.Close()
	for i := range MaxPipelined + 1 {
		m := newQuestion("example.com.", dns.TypeA)
		m.Id = uint16(i)
		if err := conn.WriteMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(t, "the connection is not read", func() bool { return s.Counts().Paused == 1 })
	if n := len(s.questions); n != MaxPipelined {
		t.Errorf("%d questions are in flight, want %d", n, MaxPipelined)
	}
	letGo()
	for range MaxPipelined + 1 {
		if _, err := conn.ReadMsg(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSlowQuestionDoesNotDelayTheNextOnOneConnection(t *testing.T) {
	u, letGo := holding(t)
	s := start(t, testConfig(u.address))
	conn := connect(t, s, "tcp")
	defer conn.Close()
	for _, name := range []string{"example.com.", "short."} {
		if err := conn.WriteMsg(newQuestion(name, dns.TypeA)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"short.", "example.com."} {
		out, err := conn.ReadMsg()
		if err != nil || out.Question[0].Name != want {
			t.Fatalf("want the answer for %s, got %v\n%v", want, err, out)
		}
		if want == "short." {
			letGo()
		}
	}
}

func TestConnectionsAreClosed(t *testing.T) {
	u := newUpstream(t, answerAll)
	t.Run("when the client is idle", func(t *testing.T) {
		s := start(t, testConfig(u.address), func(s *Server) { s.timing.idle = 50 * time.Millisecond })
		conn := connect(t, s, "tcp")
		defer conn.Close()
		if err := conn.WriteMsg(newQuestion("short", dns.TypeA)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ReadMsg(); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ReadMsg(); !errors.Is(err, io.EOF) {
			t.Errorf("want EOF, got %v", err)
		}
	})
	t.Run("when the client sends a part of a question", func(t *testing.T) {
		s := start(t, testConfig(u.address), func(s *Server) { s.timing.idle = 50 * time.Millisecond })
		conn := connect(t, s, "tcp")
		defer conn.Close()
		if _, err := conn.Conn.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ReadMsg(); !errors.Is(err, io.EOF) {
			t.Errorf("want EOF, got %v", err)
		}
	})
	t.Run("when the client sends a message without header", func(t *testing.T) {
		s := start(t, testConfig(u.address))
		conn := connect(t, s, "tcp")
		defer conn.Close()
		if _, err := conn.Conn.Write([]byte{0, 0}); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ReadMsg(); !errors.Is(err, io.EOF) {
			t.Errorf("want EOF, got %v", err)
		}
	})
	t.Run("after the last reply, when the client has closed its side", func(t *testing.T) {
		s := start(t, testConfig(u.address))
		conn := connect(t, s, "tcp")
		defer conn.Close()
		if err := conn.WriteMsg(newQuestion("example.com", dns.TypeA)); err != nil {
			t.Fatal(err)
		}
		if err := conn.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if out, err := conn.ReadMsg(); err != nil || len(out.Answer) != 1 {
			t.Errorf("want a reply, got %v\n%v", err, out)
		}
		if _, err := conn.ReadMsg(); !errors.Is(err, io.EOF) {
			t.Errorf("want EOF, got %v", err)
		}
	})
}
