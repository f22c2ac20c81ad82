package controlplane

//go:generate go test -run TestTheDashboardMeetsTheMetrics . -update
