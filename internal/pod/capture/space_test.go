package capture

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The test binary plays a process of another user, too: it connects to an
// address and prints what it is told there.
func TestMain(m *testing.M) {
	if address := os.Getenv("CAPTURE_TEST_DIAL"); address != "" {
		answer, err := ask(address)
		if err != nil {
			answer = err.Error()
		}
		fmt.Print(answer)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func ask(address string) (string, error) {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}

// space is a network namespace.
type space struct {
	t    *testing.T
	name string
	file *os.File
}

func newSpace(t *testing.T, name string) *space {
	t.Helper()
	s := &space{t: t, name: name}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			s.file, err = os.Open("/proc/thread-self/ns/net")
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatalf("network namespace %s: %v", name, err)
	}
	t.Cleanup(func() { s.file.Close() })
	s.must(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	})
	return s
}

// do runs f on a thread inside the namespace.
func (s *space) do(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Setns(int(s.file.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

func (s *space) must(f func() error) {
	s.t.Helper()
	if err := s.do(f); err != nil {
		s.t.Fatalf("in %s: %v", s.name, err)
	}
}

// join connects two namespaces by a pair of virtual interfaces.
func join(a, b *space) {
	a.must(func() error {
		pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "eth1"}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		peer, err := netlink.LinkByName("eth1")
		if err != nil {
			return err
		}
		return netlink.LinkSetNsFd(peer, int(b.file.Fd()))
	})
}

func (s *space) addresses(device string, all ...string) {
	s.t.Helper()
	s.must(func() error {
		link, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
		for _, text := range all {
			addr, err := netlink.ParseAddr(text)
			if err != nil {
				return err
			}
			addr.Flags = unix.IFA_F_NODAD // usable at once
			if err := netlink.AddrAdd(link, addr); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	})
}

func (s *space) route(network, via string) {
	s.t.Helper()
	s.must(func() error {
		dst, err := netlink.ParseIPNet(network)
		if err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{Dst: dst, Gw: net.ParseIP(via)})
	})
}

// serve answers each connection with a line that answer makes.
func (s *space) serve(network, address string, answer func(*net.TCPConn) string) {
	s.t.Helper()
	s.must(func() error {
		l, err := net.Listen(network, address)
		if err != nil {
			return err
		}
		s.t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprint(conn, answer(conn.(*net.TCPConn)))
				conn.Close()
			}
		}()
		return nil
	})
}

// ask connects from the namespace, as the test's own user, and returns the answer.
func (s *space) ask(address string) (answer string) {
	err := s.do(func() (err error) {
		answer, err = ask(address)
		return err
	})
	if err != nil {
		return err.Error()
	}
	return answer
}

// askAs is ask in a process with another user and group.
func (s *space) askAs(uid, gid uint32, address string) (answer string) {
	s.t.Helper()
	s.must(func() error {
		// By way of /proc, since the binary's folder is closed to others.
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{"CAPTURE_TEST_DIAL=" + address, "GORACE=atexit_sleep_ms=0"}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid, NoSetGroups: true}}
		out, err := cmd.CombinedOutput()
		answer = strings.TrimSpace(string(out))
		return err
	})
	return answer
}

// originalDestination is what a transparent proxy reads: where the connection
// was going before it was redirected.
func originalDestination(conn *net.TCPConn) (netip.AddrPort, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	var out netip.AddrPort
	var inner error
	local := conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr()
	err = raw.Control(func(fd uintptr) {
		if local.Unmap().Is4() {
			var got *unix.IPv6Mreq // 20 bytes, more than a sockaddr_in has
			if got, inner = unix.GetsockoptIPv6Mreq(int(fd), unix.SOL_IP, unix.SO_ORIGINAL_DST); inner == nil {
				b := got.Multiaddr
				out = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), uint16(b[2])<<8|uint16(b[3]))
			}
			return
		}
		var got *unix.IPv6MTUInfo // begins with a sockaddr_in6
		if got, inner = unix.GetsockoptIPv6MTUInfo(int(fd), unix.SOL_IPV6, unix.SO_ORIGINAL_DST); inner == nil {
			port := got.Addr.Port // in network order
			out = netip.AddrPortFrom(netip.AddrFrom16(got.Addr.Addr), port<<8|port>>8)
		}
	})
	if err != nil {
		return out, err
	}
	return out, inner
}
