package dialect

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Checks is a dialect with cluster checks of its own.
type Checks interface {
	// Checks lists them, in the order in which they run.
	Checks() []Check
}

// Check is a cluster check that is specific to one dialect.
type Check struct {
	// Code is the unique and stable one-word name of the check.
	Code string
	// Title describes the state if the check passes, Meaning the meaning of a failure, and Remedy how to fix it.
	Title, Meaning, Remedy string
	// Run returns a remark, or the error of a failed check. It reads the cluster with the user's permissions.
	Run func(context.Context, client.Client) (remark string, err error)
}

// OtherControllers is a dialect whose kinds another controller may serve in other namespaces of the cluster.
type OtherControllers interface {
	// LeavesAlone reports whether a selector of namespaces selects none of the members.
	LeavesAlone(selector *metav1.LabelSelector) bool
}
