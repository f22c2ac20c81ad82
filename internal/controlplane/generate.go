package controlplane

//go:generate go test -run TestDashboardUsesExistingMetrics . -update
