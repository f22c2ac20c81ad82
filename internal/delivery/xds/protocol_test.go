package xds

import "testing"

// TestProtocol has the sections of "xDS REST and gRPC protocol" in Envoy's documentation as its table of contents. Each test is
// about what a server has to do; what concerns filesystems, REST and streams of one type is not served. Those on the wire and with
// real clients, Envoy and gRPC, are in server_test.go, envoy_test.go and proxyless_test.go.
func TestProtocol(t *testing.T) {
	type test struct {
		name string
		run  func(*testing.T)
	}
	for _, section := range []struct {
		title string
		tests []test
	}{
		{"Variants of the xDS Transport Protocol", []test{
			{"incremental ADS over the network", serveDelta},
			{"state of the world ADS over the network", serveWorld},
			{"both on one connection", serveBoth},
		}},
		{"Basic Protocol Overview", []test{
			{"a resource is encoded once, for both", resourceOnTheWire},
			{"silence before there is anything to say", silenceBeforeTheFirstPublish},
		}},
		{"ACK NACK and resource type instance version", []test{
			{"versions and nonces", nonces},
			{"a NACK keeps what was good", nackKeepsGoing},
			{"a NACK outlives the ACK of something else", refusalsOutliveOtherAnswers},
			{"state of the world NACK", worldNack},
			{"answers are heard", observerHearsAnswers},
		}},
		{"When to send an update", []test{
			{"nothing is sent that did not change", wildcard},
			{"a client that is slow to answer gets changes merged", laterStepsAwaitAnswers},
			{"nothing piles up for a client that never answers", nothingIsKeptOfClientsThatNeverAnswer},
		}},
		{"How the client specifies what resources to return", []test{
			{"incremental wildcard", wildcardRules},
			{"names", namesOnDemand},
			{"a name under a wildcard", nameUnderAWildcard},
			{"state of the world wildcard", worldWildcard},
			{"state of the world names", worldNames},
		}},
		{"Grouping Resources into Responses", []test{
			{"all clusters and listeners in state of the world", worldHoldsAllClustersAndListeners},
			{"large responses are cut", largeResponsesAreCut},
		}},
		{"Duplicate Resource Names", []test{
			{"a snapshot has none", noDuplicates},
		}},
		{"Deleting Resources", []test{
			{"incremental, named or by wildcard", deleting},
			{"state of the world, by absence", worldDeletesByAbsence},
		}},
		{"Knowing When a Requested Resource Does Not Exist", []test{
			{"an empty wildcard is answered", emptyWildcardIsAnswered},
			{"names are remembered until they exist", notYet},
		}},
		{"Unsubscribing From Resources", []test{
			{"the last name is not the wildcard", unsubscribedFromAll},
		}},
		{"Resource updates", []test{
			{"stale nonces are not answered", worldStaleNonce},
		}},
		{"Resource warming", []test{
			{"endpoints of a changed cluster are sent again", warming},
			{"in state of the world, too", worldWarming},
		}},
		{"Eventual consistency considerations", []test{
			{"make before break", makeBeforeBreak},
			{"make before break in state of the world", worldMakeBeforeBreak},
		}},
		{"Incremental xDS", []test{
			{"initial resource versions", resume},
			{"a restarted server sends nothing again", restartSendsNothingAgain},
		}},
	} {
		t.Run(section.title, func(t *testing.T) {
			for _, test := range section.tests {
				t.Run(test.name, test.run)
			}
		})
	}
}

// The example of the section, step by step.
func wildcardRules(t *testing.T) {
	b := newBench(t, text(ClusterType, "A", "1"), text(ClusterType, "B", "1"))
	b.subscribe(ClusterType)
	b.want("unset is *", b.drain(), "cluster +A +B")
	b.subscribe(ClusterType, "A")
	b.want("* goes on, and A is new", b.drain(), "cluster +A")
	b.unsubscribe(ClusterType, "*")
	b.publish(text(ClusterType, "A", "2"), text(ClusterType, "B", "2"))
	b.want("only A goes on", b.drain(), "cluster +A")
	b.unsubscribe(ClusterType, "A")
	b.publish(text(ClusterType, "A", "3"), text(ClusterType, "B", "3"))
	b.want("nothing is subscribed to", b.drain(), "")
}

func unsubscribedFromAll(t *testing.T) {
	b := newBench(t, text(ListenerType, "a", "1"), text(ListenerType, "b", "1"))
	b.subscribe(ListenerType, "a")
	b.drain()
	b.unsubscribe(ListenerType, "a")
	b.subscribe(ListenerType)
	b.publish(text(ListenerType, "a", "2"), text(ListenerType, "b", "2"))
	b.want("a name was asked for once: empty is nothing, and not everything", b.drain(), "")
	b.subscribe(ListenerType, "*")
	b.want("* is everything", b.drain(), "listener +a +b")
}

func noDuplicates(t *testing.T) {
	if _, err := NewSnapshot(text(ClusterType, "a", "1"), text(ClusterType, "a", "2")); err == nil {
		t.Error("two clusters of one name are published")
	}
	b := newBench(t, text(ClusterType, "a", "1"))
	b.subscribe(ClusterType, "a", "a", "*", "a")
	b.want("however often it is asked for", b.drain(), "cluster +a")
}

func deleting(t *testing.T) {
	b := newBench(t, text(RouteType, "a", "1"), text(ListenerType, "l", "1"))
	b.subscribe(RouteType, "a")
	b.subscribe(ListenerType)
	b.drain()
	b.publish()
	b.want("both", b.drain(), "listener -l; route -a")
	b.want("once", b.drain(), "")
}

func notYet(t *testing.T) {
	b := newBench(t)
	b.subscribe(RouteType, "a")
	b.want("there is none", b.drain(), "route -a")
	b.publish(text(RouteType, "b", "1"))
	b.want("another one is of no interest", b.drain(), "")
	b.publish(text(RouteType, "a", "1"))
	b.want("here it is", b.drain(), "route +a")
}
