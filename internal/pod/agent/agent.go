package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"anymesh.dev/anymesh/internal/identity"
)

// Config says what the agent does. Fields without a default are required.
type Config struct {
	// Command is the proxy's command line.
	Command []string

	// SigningURL is the signing server's URL without a path, https.
	SigningURL string
	// SigningName is the DNS name the server proves; the URL's host.
	SigningName string
	// TokenPath is the projected token's file, RootsPath the trust bundle's (PEM).
	TokenPath, RootsPath string
	// CertDir is an existing folder for tls.crt, tls.key and ca.crt, in memory.
	CertDir string

	// Listen is the address of the agent's HTTP server, for example ":15020".
	Listen string
	// Probes are the app's original probes, by "<container>/<kind>".
	Probes map[string]Probe
	// ProbeHosts are tried in turn for probes that name no host; 127.0.0.1 and ::1.
	ProbeHosts []string
	// ReadyURL answers 200 when the proxy is ready; empty means as soon as it runs.
	ReadyURL string
	// MetricsURL has the proxy's metrics in Prometheus text; empty means none.
	MetricsURL string

	// OnTermPost gets an empty POST when the pod stops, for example to drain
	// listeners; empty means none.
	OnTermPost string
	// TermWait is how long the proxy goes on after that; 0 s.
	TermWait time.Duration

	// Logger is slog.Default().
	Logger *slog.Logger
}

// ExitError is the proxy's own failure: the process should end with its code.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the proxy ended with code %d", e.Code) }

func (c *Config) check() error {
	if len(c.Command) == 0 {
		return errors.New("agent: no command to run, add one after --")
	}
	for field, value := range map[string]string{
		"signing URL": c.SigningURL, "token path": c.TokenPath, "roots path": c.RootsPath,
		"certificate folder": c.CertDir, "listen address": c.Listen,
	} {
		if value == "" {
			return fmt.Errorf("agent: the %s is empty", field)
		}
	}
	for field, value := range map[string]string{"ready URL": c.ReadyURL, "metrics URL": c.MetricsURL, "on-term URL": c.OnTermPost} {
		if u, err := url.Parse(value); value != "" && (err != nil || u.Scheme != "http" || u.Host == "") {
			return fmt.Errorf("agent: the %s %q is not an http URL", field, value)
		}
	}
	for name, p := range c.Probes {
		if err := p.check(); err != nil {
			return fmt.Errorf("agent: probe %q: %w", name, err)
		}
	}
	if c.TermWait < 0 {
		return fmt.Errorf("agent: the wait after a stop signal is negative: %s", c.TermWait)
	}
	if len(c.ProbeHosts) == 0 {
		c.ProbeHosts = []string{"127.0.0.1", "::1"}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// agent is one run.
type agent struct {
	Config
	metrics *metrics
	phase   phase
	client  *http.Client // for the proxy's own URLs
}

// Run does it all, and returns when the proxy has ended: nil for code 0,
// ExitError for another one. When the context ends, or on SIGTERM and SIGINT,
// the proxy is drained and stopped; other signals are handed on.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	a := &agent{Config: cfg, metrics: newMetrics(), client: localClient()}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)

	if !inMemory(cfg.CertDir) {
		return fmt.Errorf("agent: %s would keep private keys on a disk; mount an emptyDir with medium Memory there", cfg.CertDir)
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	stopServer := a.serve(l)
	defer stopServer()

	issued, renewal := (*identity.Issued)(nil), time.Now()
	if kept, ok := a.kept(); ok {
		issued = kept
	} else {
		var stopped bool
		if issued, stopped, err = a.firstCertificate(ctx, signals); stopped || err != nil {
			return err
		}
		renewal = renewalTime(time.Now(), issued.NotAfter)
	}
	wg.Go(func() { a.renew(ctx, issued, renewal) })

	child, err := startChild(cfg.Command)
	if err != nil {
		return fmt.Errorf("agent: start %s: %w", cfg.Command[0], err)
	}
	a.phase.set(running)
	return a.supervise(ctx, child, signals)
}

// firstCertificate waits for a certificate, and gives up when told to stop.
func (a *agent) firstCertificate(ctx context.Context, signals <-chan os.Signal) (issued *identity.Issued, stopped bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		issued, err = a.obtain(ctx)
	}()
	for {
		select {
		case <-done:
			if err != nil && ctx.Err() != nil {
				return nil, true, nil
			}
			return issued, false, err
		case s := <-signals:
			if stops(s) {
				cancel()
				<-done
				return nil, true, nil
			}
		}
	}
}

func stops(s os.Signal) bool { return s == syscall.SIGTERM || s == syscall.SIGINT }

// supervise returns when the child has ended.
func (a *agent) supervise(ctx context.Context, child *child, signals <-chan os.Signal) error {
	over := ctx.Done()
	for {
		select {
		case <-child.done:
			return child.result()
		case <-over:
			over = nil
			a.stop(child, signals)
		case s := <-signals:
			if stops(s) {
				a.stop(child, signals)
				over = nil
				continue
			}
			child.signal(s)
		}
	}
}

// stop drains the proxy and then asks it to end. A second stop signal cuts the
// wait short.
func (a *agent) stop(child *child, signals <-chan os.Signal) {
	if !a.phase.set(stopping) {
		child.signal(syscall.SIGTERM) // it was asked before: make sure that it heard
		return
	}
	a.Logger.Info("stopping the proxy", "after", a.TermWait)
	if a.OnTermPost != "" {
		if err := a.post(a.OnTermPost); err != nil {
			a.Logger.Warn("the proxy was not told to drain", "url", a.OnTermPost, "error", err)
		}
	}
	wait := time.NewTimer(a.TermWait)
	defer wait.Stop()
	for waiting := true; waiting; {
		select {
		case <-wait.C:
			waiting = false
		case <-child.done:
			return
		case s := <-signals:
			if stops(s) {
				waiting = false
			} else {
				child.signal(s)
			}
		}
	}
	child.signal(syscall.SIGTERM)
}
