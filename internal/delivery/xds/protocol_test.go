package xds

import "testing"

// TestProtocol follows the sections of "xDS REST and gRPC protocol" in Envoy's documentation. Each test covers the
// server's part. Filesystem, REST and single-type streams are not supported. Tests over the network and with Envoy
// and gRPC clients are in server_test.go, envoy_test.go and proxyless_test.go.
func TestProtocol(t *testing.T) { testProtocol(t) }

// sharedProtocol is the test in which keys share their resources.
const sharedProtocol = "TestProtocolWithSharedResources"

func TestProtocolWithSharedResources(t *testing.T) { testProtocol(t) }

func testProtocol(t *testing.T) {
	type test struct {
		name string
		run  func(*testing.T)
	}
	for _, section := range []struct {
		title string
		tests []test
	}{
		{"Variants of the xDS Transport Protocol", []test{
			{"incremental ADS over the network", deltaADS},
			{"state of the world ADS over the network", sotwADS},
			{"both on one connection", deltaAndSotwOnOneConnection},
		}},
		{"Basic Protocol Overview", []test{
			{"a resource is encoded once, for both", resourceEncoding},
			{"nothing is sent before the first publish", nothingSentBeforeFirstPublish},
		}},
		{"ACK NACK and resource type instance version", []test{
			{"versions and nonces", unknownNonces},
			{"a NACK keeps other resources", nackKeepsOtherResources},
			{"a NACK survives ACKs of other resources", nackSurvivesOtherAcks},
			{"state of the world NACK", sotwNack},
			{"the observer receives ACKs and NACKs", observerReceivesAcksAndNacks},
		}},
		{"When to send an update", []test{
			{"only changed resources are sent", wildcard},
			{"changes merge while an ACK is pending", laterStepsWaitForAcks},
			{"unanswered responses are bounded", unansweredResponsesAreBounded},
		}},
		{"How the client specifies what resources to return", []test{
			{"incremental wildcard", wildcardExample},
			{"names", namedResources},
			{"a name with a wildcard", nameWithWildcard},
			{"state of the world wildcard", sotwWildcard},
			{"state of the world names", sotwNamedResources},
		}},
		{"Grouping Resources into Responses", []test{
			{"all clusters and listeners in state of the world", sotwSendsAllClustersAndListeners},
			{"large responses are split", largeResponsesAreSplit},
		}},
		{"Duplicate Resource Names", []test{
			{"a snapshot rejects duplicates", duplicateNames},
		}},
		{"Deleting Resources", []test{
			{"incremental, named or by wildcard", removedResources},
			{"state of the world, by omission", sotwRemovesByOmission},
		}},
		{"Knowing When a Requested Resource Does Not Exist", []test{
			{"an empty wildcard gets a response", emptyWildcardGetsResponse},
			{"a subscription precedes the resource", subscribeBeforeResourceExists},
		}},
		{"Unsubscribing From Resources", []test{
			{"unsubscribing from the last name is not the wildcard", unsubscribeAllIsNotWildcard},
		}},
		{"Resource updates", []test{
			{"stale nonces are ignored", sotwStaleNonce},
		}},
		{"Resource warming", []test{
			{"endpoints of a changed cluster are sent again", clusterWarming},
			{"endpoints of a changed cluster in state of the world", sotwWarming},
		}},
		{"Eventual consistency considerations", []test{
			{"make before break", makeBeforeBreak},
			{"make before break in state of the world", sotwMakeBeforeBreak},
		}},
		{"Incremental xDS", []test{
			{"initial resource versions", initialResourceVersions},
			{"a reconnect sends only differences", reconnectSendsOnlyDifferences},
		}},
		{"Collections", []test{
			{"resources with the prefix of the collection", collections},
			{"a reconnect sends only differences of a collection", collectionsAfterReconnect},
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
func wildcardExample(t *testing.T) {
	b := newBench(t, text(ClusterType, "A", "1"), text(ClusterType, "B", "1"))
	b.subscribe(ClusterType)
	b.want("unset is *", b.drain(), "cluster +A +B")
	b.subscribe(ClusterType, "A")
	b.want("* stays, and A is added", b.drain(), "cluster +A")
	b.unsubscribe(ClusterType, "*")
	b.publish(text(ClusterType, "A", "2"), text(ClusterType, "B", "2"))
	b.want("only A is left", b.drain(), "cluster +A")
	b.unsubscribe(ClusterType, "A")
	b.publish(text(ClusterType, "A", "3"), text(ClusterType, "B", "3"))
	b.want("no subscription is left", b.drain(), "")
}

func unsubscribeAllIsNotWildcard(t *testing.T) {
	b := newBench(t, text(ListenerType, "a", "1"), text(ListenerType, "b", "1"))
	b.subscribe(ListenerType, "a")
	b.drain()
	b.unsubscribe(ListenerType, "a")
	b.subscribe(ListenerType)
	b.publish(text(ListenerType, "a", "2"), text(ListenerType, "b", "2"))
	b.want("after a request with names, an empty list is not the wildcard", b.drain(), "")
	b.subscribe(ListenerType, "*")
	b.want("* subscribes to all", b.drain(), "listener +a +b")
}

func duplicateNames(t *testing.T) {
	if _, err := NewSnapshot(text(ClusterType, "a", "1"), text(ClusterType, "a", "2")); err == nil {
		t.Error("a snapshot with two clusters of one name was accepted")
	}
	if _, err := shared(t, text(ClusterType, "a", "1")).With(text(ClusterType, "a", "2")); err == nil {
		t.Error("an additional cluster with the same name was accepted")
	}
	b := newBench(t, text(ClusterType, "a", "1"))
	b.subscribe(ClusterType, "a", "a", "*", "a")
	b.want("a name listed several times is sent once", b.drain(), "cluster +a")
}

func removedResources(t *testing.T) {
	b := newBench(t, text(RouteType, "a", "1"), text(ListenerType, "l", "1"))
	b.subscribe(RouteType, "a")
	b.subscribe(ListenerType)
	b.drain()
	b.publish()
	b.want("both", b.drain(), "listener -l; route -a")
	b.want("once", b.drain(), "")
}

func subscribeBeforeResourceExists(t *testing.T) {
	b := newBench(t)
	b.subscribe(RouteType, "a")
	b.want("the resource does not exist", b.drain(), "route -a")
	b.publish(text(RouteType, "b", "1"))
	b.want("a resource without subscription", b.drain(), "")
	b.publish(text(RouteType, "a", "1"))
	b.want("the resource exists now", b.drain(), "route +a")
}
