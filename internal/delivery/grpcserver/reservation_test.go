package grpcserver

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"anymesh.dev/anymesh/internal/h2frame"
)

// Long messages of many clients at once wait for each other, within MaxUnfinished. None is refused.
func TestLongMessagesWaitForReservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, size, most = 12, 200_000, 1 << 20
		var used atomic.Int64
		h := newRawServer(t, Options{MaxUnfinished: most, UnfinishedBytes: &used})
		var all []*longSender
		for range clients {
			one := &longSender{rawClient: connect(t, h.listener), left: message(size), window: streamWindowSize}
			one.open(1, sinkMethod)
			all = append(all, one)
		}
		for round := 0; slices.ContainsFunc(all, func(s *longSender) bool { return len(s.left) > 0 }); round++ {
			if round > 2*clients*size/streamWindowSize {
				t.Fatal("the messages do not end")
			}
			for _, one := range all {
				one.sendWindow()
			}
			synctest.Wait()
			if n := used.Load(); n > most {
				t.Fatalf("%d bytes are charged", n)
			}
		}
		for i, one := range all {
			one.sendWindow()
			if one.answer != "HEADERS 1 status=200 grpc-status=0" {
				t.Errorf("client %d received %q", i, one.answer)
			}
		}
		if n, got := used.Load(), h.refusalReasons(); n != 0 || len(got) > 0 {
			t.Errorf("%d bytes are charged at last, refusals %q", n, got)
		}
	})
}

// longSender sends a message as far as the window of its stream allows.
type longSender struct {
	*rawClient
	left   []byte
	window int
	answer string
}

func (s *longSender) sendWindow() {
	for _, event := range s.takeEvents() {
		var by int
		if n, _ := fmt.Sscanf(event, "WINDOW 1 +%d", &by); n == 1 {
			s.window += by
		} else if !strings.HasPrefix(event, "WINDOW") {
			s.answer = event
		}
	}
	for s.window > 0 && len(s.left) > 0 {
		n := min(s.window, len(s.left), h2frame.FrameSize)
		_ = s.WriteData(1, n == len(s.left), s.left[:n])
		s.left, s.window = s.left[n:], s.window-n
	}
}

// A client with a reservation that does not send its message loses its connection, and others get its room.
func TestReservationsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used atomic.Int64
		h := newRawServer(t, Options{MaxUnfinished: 1 << 20, UnfinishedBytes: &used})
		stalled, waiting := connect(t, h.listener), connect(t, h.listener)
		announce(stalled, 1, sinkMethod, 700_000, 50_000)
		synctest.Wait()
		announce(waiting, 1, sinkMethod, 700_000, 10_000)
		synctest.Wait()
		if n := used.Load(); n != 700_000+chunkSize {
			t.Errorf("%d bytes are charged", n)
		}
		waiting.takeEvents()
		time.Sleep(MessageTimeout + time.Second)
		synctest.Wait()
		if got := stalled.takeEvents(); !slices.Contains(got, "closed") {
			t.Errorf("the client that stalls received %q", got)
		}
		if n := used.Load(); n != 700_000 {
			t.Errorf("%d bytes are charged for the message that waited", n)
		}
		if got := waiting.takeEvents(); len(got) != 1 || !strings.HasPrefix(got[0], "WINDOW 1 ") {
			t.Errorf("the client that waited received %q", got)
		}
		waiting.close()
		synctest.Wait()
		if n := used.Load(); n != 0 {
			t.Errorf("%d bytes are charged at last", n)
		}
		if got := h.refusalReasons(); !slices.Equal(got, []RefusalReason{RefusedUnfinished}) {
			t.Errorf("got refusals %q", got)
		}
	})
}
