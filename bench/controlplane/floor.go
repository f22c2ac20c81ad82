package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The floor is the minimum cost of the changes: the same number of connections, one TLS record of the same size to
// each client per change, and a small one back, without xDS, HTTP and Kubernetes. It is measured in the same run,
// because machines differ, and one machine differs over time.

// floorVariable makes this program run the server whose CPU time is measured. The value contains the number of
// clients and the bytes per change.
const floorVariable = "ANYMESH_BENCH_FLOOR"

// acknowledged is the size of an incremental xDS ACK with its HTTP/2 and gRPC framing, in bytes.
const acknowledged = 100

// record is the overhead of a TLS record in bytes.
const record = 22

// floor returns the CPU-seconds for 1000 changes.
func floor(ctx context.Context, clients, changes int, wire float64) (seconds float64, err error) {
	bytes := max(1, int(wire)/clients-record)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", floorVariable, clients, bytes))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = in.Close() // this stops it
		if ended := cmd.Wait(); err == nil && ended != nil {
			err = fmt.Errorf("floor: %w", ended)
		}
	}()
	answers := bufio.NewScanner(out)
	if !answers.Scan() {
		return 0, io.ErrUnexpectedEOF
	}
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close() // all data was sent
		}
	}()
	for range clients {
		c, err := tls.Dial("tcp", answers.Text(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // only zeros are sent
		if err != nil {
			return 0, err
		}
		conns = append(conns, c)
		go func() {
			b := make([]byte, bytes)
			for {
				if _, err := io.ReadFull(c, b); err != nil {
					return
				}
				if _, err := c.Write(make([]byte, acknowledged)); err != nil {
					return
				}
			}
		}()
	}
	if _, err := fmt.Fprintln(in, changes); err != nil {
		return 0, err
	}
	if !answers.Scan() {
		return 0, io.ErrUnexpectedEOF
	}
	spent, err := strconv.ParseFloat(answers.Text(), 64)
	progress("the same bytes on plain TLS connections")
	return spent / float64(changes) * 1000, err
}

// serveFloor runs the server: one reader goroutine per connection, and one writer goroutine per write.
func serveFloor() error {
	var clients, bytes, changes int
	if _, err := fmt.Sscan(os.Getenv(floorVariable), &clients, &bytes); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13,
		DynamicRecordSizingDisabled: true,
	})
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	var got atomic.Int64
	all := make(chan struct{}, 1)
	conns := make([]net.Conn, clients)
	for i := range conns {
		if conns[i], err = l.Accept(); err != nil {
			return err
		}
		go func() {
			for b := make([]byte, acknowledged); ; {
				if _, err := io.ReadFull(conns[i], b); err != nil {
					return
				}
				if got.Add(1)%int64(clients) == 0 {
					all <- struct{}{}
				}
			}
		}()
	}
	if _, err := fmt.Scan(&changes); err != nil {
		return err
	}
	before := cpuTime()
	change := make([]byte, bytes)
	for range changes {
		var writing sync.WaitGroup
		for _, c := range conns {
			writing.Go(func() { _, _ = c.Write(change) }) // a failed write is never acknowledged
		}
		<-all
		writing.Wait()
	}
	fmt.Println((cpuTime() - before).Seconds())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
