package capture

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// askFrom sends a datagram, or opens a connection that the server closes, from a port and as a user. It returns the
// response.
func (s *netns) askFrom(uid, port int, network, address string) (answer string) {
	s.t.Helper()
	s.must(func() error {
		if uid != 0 {
			// only of this thread, which ends with the goroutine
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
				return errno
			}
		}
		dialer := net.Dialer{LocalAddr: &net.UDPAddr{Port: port}, Timeout: 10 * time.Second}
		if network == "tcp" {
			dialer.LocalAddr = &net.TCPAddr{Port: port}
		}
		conn, err := dialer.Dial(network, address)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if network == "tcp" {
			text, err := io.ReadAll(conn)
			answer = string(text)
			return err
		}
		if _, err := conn.Write([]byte("?")); err != nil {
			return err
		}
		b := make([]byte, 100)
		n, err := conn.Read(b)
		answer = string(b[:n])
		return err
	})
	return answer
}

// The agent and applications use the same ports, one after the other. Connection tracking remembers a port for some
// time: the question of an application must not follow that of the agent to the nameserver, or the reverse.
func TestPortsAreReused(t *testing.T) {
	const app, proxy = 0, 1337
	pod, outside := newPodNetns(t)
	pod.applyDNS()
	for listen, nameserver := range map[string]string{"127.0.0.1:15053": "10.9.0.1:53", "[::1]:15053": "[fd09::1]:53"} {
		pod.respondUDP(listen, "agent")
		pod.serve("tcp", listen, func(*net.TCPConn) string { return "agent" })
		outside.respondUDP(nameserver, "nameserver")
		outside.serve("tcp", nameserver, func(*net.TCPConn) string { return "nameserver" })
		for _, network := range []string{"udp", "tcp"} {
			for i, users := range [][]int{{proxy, app, proxy}, {app, proxy, app}} {
				for step, uid := range users {
					what := fmt.Sprintf("%s over %s, user %d, question %d", nameserver, network, uid, step)
					expect(t, what, pod.askFrom(uid, 40000+i, network, nameserver),
						map[int]string{app: "agent", proxy: "nameserver"}[uid])
				}
			}
		}
	}
}
