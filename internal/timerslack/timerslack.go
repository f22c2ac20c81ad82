// Package timerslack lets timers of many connections expire together, so that an idle process seldom wakes up.
//
// In: the time that a timer waits. Out: a time that is longer by less than the slack, so that all timers expire at
// multiples of the slack.
package timerslack

import "time"

// Slack is the interval at which timers expire.
const Slack = 5 * time.Second

// Extend returns the time from now until the first multiple of Slack at which at least wait has passed.
func Extend(wait time.Duration) time.Duration {
	due := time.Now().Add(wait)
	if late := due.Sub(due.Truncate(Slack)); late > 0 {
		return wait + Slack - late
	}
	return wait
}
