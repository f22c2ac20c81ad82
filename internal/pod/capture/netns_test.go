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

// The test binary also runs as a process of another user, which connects to an address and prints the response.
func TestMain(m *testing.M) {
	if address := os.Getenv("CAPTURE_TEST_DIAL"); address != "" {
		answer, err := dialAndRead(address)
		if err != nil {
			answer = err.Error()
		}
		fmt.Print(answer)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func dialAndRead(address string) (string, error) {
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

// netns is a network namespace.
type netns struct {
	t    *testing.T
	name string
	file *os.File
}

func newNetns(t *testing.T, name string) *netns {
	t.Helper()
	s := &netns{t: t, name: name}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
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

// run runs f on a thread in the namespace.
func (s *netns) run(f func() error) error {
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

func (s *netns) must(f func() error) {
	s.t.Helper()
	if err := s.run(f); err != nil {
		s.t.Fatalf("in %s: %v", s.name, err)
	}
}

// connectVeth connects two namespaces by a veth pair.
func connectVeth(a, b *netns) {
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

func (s *netns) addAddresses(device string, all ...string) {
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
			addr.Flags = unix.IFA_F_NODAD // usable without duplicate address detection
			if err := netlink.AddrAdd(link, addr); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	})
}

func (s *netns) addRoute(network, via string) {
	s.t.Helper()
	s.must(func() error {
		dst, err := netlink.ParseIPNet(network)
		if err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{Dst: dst, Gw: net.ParseIP(via)})
	})
}

// serve sends the result of answer on each connection.
func (s *netns) serve(network, address string, answer func(*net.TCPConn) string) {
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

// dial connects from the namespace as the current user, and returns the response.
func (s *netns) dial(address string) (answer string) {
	err := s.run(func() (err error) {
		answer, err = dialAndRead(address)
		return err
	})
	if err != nil {
		return err.Error()
	}
	return answer
}

// dialAs is dial in a process with another user and group.
func (s *netns) dialAs(uid, gid uint32, address string) (answer string) {
	s.t.Helper()
	s.must(func() error {
		// /proc/self/exe, since other users cannot read the folder of the binary.
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

// originalDestination returns the destination of a connection before it was redirected, as a transparent proxy reads
// it.
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
			port := got.Addr.Port // network byte order
			out = netip.AddrPortFrom(netip.AddrFrom16(got.Addr.Addr), port<<8|port>>8)
		}
	})
	if err != nil {
		return out, err
	}
	return out, inner
}
