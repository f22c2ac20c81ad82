package controlplane

//go:generate go test -run TestDashboardQueriesExistingMetrics . -update
