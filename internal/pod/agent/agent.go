package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/identity"
)

// Config configures the agent. Fields without a default are required.
type Config struct {
	// Command is the command line of the proxy. Empty means that the application is its own proxy, as gRPC libraries with
	// xDS are: the files in CertDir and the socket of the relay are then for all users of the pod.
	Command []string
	// ConfigArgument is the option of Command that takes configuration as JSON; ConfigFiles are YAML files that are
	// merged into it.
	ConfigArgument string
	ConfigFiles    []string

	// SigningURL is the https URL of the signing server, without a path.
	SigningURL string
	// SigningServerName is the DNS name of the signing server's certificate. The default is the host of SigningURL.
	SigningServerName string
	// FilesDir is the folder for the files in the environment of the container. Empty means that the pod was injected by
	// an older version: its files are in a volume.
	FilesDir string
	// TokenPath is the file of the projected token, RootsPath that of the trust bundle (PEM).
	TokenPath, RootsPath string
	// CertDir is an existing folder in memory for tls.crt, tls.key and ca.crt.
	CertDir string

	// XDSAddress is host:port of the xDS server, which sends the authority and the host names of the mesh. Empty disables
	// the DNS server.
	XDSAddress string
	// DNSPort is the port of the DNS server on the loopback addresses. 0 disables it.
	DNSPort uint16
	// ResolvConf has the nameservers and search domains of the pod. The default is /etc/resolv.conf.
	ResolvConf string

	// Listen is the address of the agent's HTTP server, for example ":15020".
	Listen string
	// Probes are the original probes of the application, keyed by "<container>/<kind>".
	Probes map[string]Probe
	// ProbeHosts are tried in order for probes without a host. The default is 127.0.0.1 and ::1.
	ProbeHosts []string
	// ReadyURL returns status 200 when the proxy is ready. Empty means that a running proxy is ready.
	ReadyURL string
	// HealthURL returns gauges in Prometheus text format, one for each listener that the proxy checks. The pod is not
	// ready while one of them is 0. Empty means none.
	HealthURL string
	// MetricsURL returns the metrics of the proxy in Prometheus text format. Empty means none.
	MetricsURL string

	// SecretsSocket is the Unix domain socket of the server of certificates of Secrets. Empty disables it.
	SecretsSocket string

	// RelaySocket is the Unix domain socket on which the proxy gets its configuration from RelayAddress, the host:port of
	// its xDS server. Empty means that the proxy connects to the server itself.
	RelaySocket, RelayAddress string

	// LogLevelSocket is the Unix domain socket on which the proxy takes the log level that the control plane sends to the
	// relay. Empty if the level of the proxy does not change.
	LogLevelSocket string

	// DrainURL receives an empty POST when the pod terminates, for example to drain listeners. Empty means none.
	DrainURL string
	// DrainDuration is the time from that POST to the termination of the proxy. The default is 0 s.
	DrainDuration time.Duration

	// AccessLog is the file into which the proxy writes its access log; empty if it writes none. AccessLogTarget is the
	// file to which it is linked; empty for none. The proxy opens the file again on SIGUSR1.
	AccessLog, AccessLogTarget string

	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// ExitError means that the proxy failed. The process must exit with the same code.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the proxy exited with code %d", e.Code) }

func (c *Config) check() error {
	ofProxy := c.ReadyURL + c.HealthURL + c.MetricsURL + c.DrainURL + c.AccessLog + c.ConfigArgument +
		c.LogLevelSocket
	if len(c.Command) == 0 && ofProxy != "" {
		return errors.New("agent: the URLs, the access log and the configuration are those of a proxy; add its command after --")
	}
	for field, value := range map[string]string{
		"signing URL": c.SigningURL, "token path": c.TokenPath, "roots path": c.RootsPath,
		"certificate folder": c.CertDir, "listen address": c.Listen,
	} {
		if value == "" {
			return fmt.Errorf("agent: the %s is empty", field)
		}
	}
	for field, value := range map[string]string{"ready URL": c.ReadyURL, "health URL": c.HealthURL,
		"metrics URL": c.MetricsURL, "drain URL": c.DrainURL} {
		if u, err := url.Parse(value); value != "" && (err != nil || u.Scheme != "http" || u.Host == "") {
			return fmt.Errorf("agent: the %s %q is not an http URL", field, value)
		}
	}
	for name, p := range c.Probes {
		if err := p.check(); err != nil {
			return fmt.Errorf("agent: probe %q: %w", name, err)
		}
	}
	if c.DrainDuration < 0 {
		return fmt.Errorf("agent: the drain duration is negative: %s", c.DrainDuration)
	}
	if len(c.ProbeHosts) == 0 {
		c.ProbeHosts = []string{"127.0.0.1", "::1"}
	}
	if c.ResolvConf == "" {
		c.ResolvConf = "/etc/resolv.conf"
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// agent is one run of the agent.
type agent struct {
	Config
	metrics *metrics
	phase   phase
	client  *http.Client // for URLs of the proxy
	failing atomic.Value // the string of the last failingListeners
	// responded is true after the first response of the proxy to ReadyURL.
	responded atomic.Bool
	// keep is called when the proxy is ready, after it was started.
	keep  func()
	names *names // nil if there is no XDSAddress
	// authority is that of the mesh, as the control plane sends it.
	authority authority
	proxy     atomic.Pointer[child]
}

func newRun(cfg Config) *agent {
	return &agent{Config: cfg, metrics: newMetrics(), client: localClient(),
		authority: authority{changed: make(chan struct{}, 1)}}
}

// Run runs the agent until the proxy exits. It returns nil for exit code 0, and an ExitError for another code. When
// the context ends, or on SIGTERM or SIGINT, the proxy is drained and terminated; other signals are forwarded to it. A
// proxy that is killed is started again.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	a := newRun(cfg)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2)
	defer signal.Stop(signals)

	if !isMemoryFS(cfg.CertDir) {
		return fmt.Errorf("agent: %s would store private keys on a disk; mount an emptyDir with medium Memory there",
			cfg.CertDir)
	}
	if err := writeVariables(cfg.FilesDir, os.Environ()); err != nil {
		return err
	}
	var err error
	if a.names, err = a.startDNS(ctx, wg.Go); err != nil {
		return err
	}
	l, err := connlimit.ListenTCP(ctx, cfg.Listen)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	stopServer := a.serve(l)
	defer stopServer()

	issued, renewal := (*identity.Issued)(nil), time.Now()
	if cached, ok := a.cachedCertificate(); ok {
		issued = cached
	} else {
		var stopped bool
		if issued, stopped, err = a.firstCertificate(ctx, signals); stopped || err != nil {
			return err
		}
		renewal = renewalTime(time.Now(), issued)
	}
	wg.Go(func() { a.renew(ctx, issued, renewal) })
	if a.names != nil {
		wg.Go(func() { a.names.watch(ctx) })
	}

	certificates, err := a.startSecrets(ctx, wg.Go)
	if err != nil {
		return err
	}
	relayStarted, err := a.startRelay(ctx, wg.Go, certificates)
	if err != nil {
		return err
	}
	if len(a.Command) == 0 {
		a.phase.advance(running)
		waitForStop(ctx, signals)
		return nil
	}
	accessLog, err := a.prepareAccessLog()
	if err != nil {
		return err
	}
	command, config, err := a.proxyCommand()
	if err != nil {
		return err
	}
	a.keep = sync.OnceFunc(func() { a.keepConfig(config); relayStarted() })
	if err := a.startProxy(command); err != nil {
		return err
	}
	a.phase.advance(running)
	wg.Go(func() { a.watchAccessLog(ctx, accessLog) })
	return a.supervise(ctx, command, signals)
}

// firstCertificate waits for a certificate. It returns early on a stop signal.
func (a *agent) firstCertificate(ctx context.Context, signals <-chan os.Signal) (issued *identity.Issued, stopped bool,
	err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		issued, err = a.requestCertificate(ctx)
	}()
	for {
		select {
		case <-done:
			if err != nil && ctx.Err() != nil {
				return nil, true, nil
			}
			return issued, false, err
		case s := <-signals:
			if isStopSignal(s) {
				cancel()
				<-done
				return nil, true, nil
			}
		}
	}
}

// readers are the users who may read certificates: the application has any user.
func (a *agent) readers() readers { return readers(len(a.Command) == 0) }

// waitForStop waits for the end of the context, or for a stop signal.
func waitForStop(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			if isStopSignal(s) {
				return
			}
		}
	}
}

func isStopSignal(s os.Signal) bool { return s == syscall.SIGTERM || s == syscall.SIGINT }
