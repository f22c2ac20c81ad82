package dialect

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Check is a check of a cluster that only the users of one dialect need.
type Check struct {
	// Code names the check, in one word that no other check has; it stays from version to version.
	Code string
	// Title says what is well if the check passes, Meaning what a failure means, and Remedy what to do about it.
	Title, Meaning, Remedy string
	// Run gives a remark, or an error that says what is wrong. It reads the cluster with the user's rights.
	Run func(context.Context, client.Client) (remark string, err error)
}
