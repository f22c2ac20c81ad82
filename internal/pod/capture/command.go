package capture

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/pod/dns"
)

// Command is "anymesh capture".
func Command() *cobra.Command {
	var dryRun bool
	var resolvConf string
	cmd := &cobra.Command{
		Use:   "capture",
		Short: "Redirect the traffic of the pod to its proxy",
		Long: "Installs packet rules (nftables) in the current network namespace, configured by the ANYMESH_CAPTURE_* variables.\n" +
			"Rules of an earlier run are replaced; " + EnvEnabled + "=0 removes them.",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := FromEnv(os.LookupEnv)
			if err != nil {
				return fmt.Errorf("capture: %w", err)
			}
			if config.DNSPort != 0 {
				upstreams, _, err := dns.ReadConfig(resolvConf)
				if err != nil {
					return fmt.Errorf("capture: %w", err)
				}
				for _, u := range upstreams {
					config.Nameservers = append(config.Nameservers, netip.PrefixFrom(u.Addr(), u.Addr().BitLen()))
				}
				slices.SortFunc(config.Nameservers, netip.Prefix.Compare)
			}
			rules := config.Rules()
			if dryRun {
				_, err := fmt.Fprint(cmd.OutOrStdout(), rules)
				return err
			}
			if err := Apply(rules); err != nil {
				return err
			}
			slog.Info("capture rules applied", "enabled", config.Enabled, "inbound", config.AppPorts, "allInbound", config.AllAppPorts,
				"ipv6", config.IPv6 && HasIPv6(), "ignoredPorts", config.IgnoredPorts, "ignoredAddresses",
				config.IgnoredAddresses)
			return nil
		},
	}
	cmd.Flags().StringVar(&resolvConf, "resolv-conf", "/etc/resolv.conf", "file with the nameservers of the pod")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the rules in the syntax of nft, without applying them")
	return cmd
}
