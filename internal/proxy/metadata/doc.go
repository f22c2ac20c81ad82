// Package metadata has what is known of a session: a document of JSON, such as {"IP": {"src_addr": "10.0.0.1"}}.
//
// In: what protocols tell of a connection. Out: values at paths. The document of an HTTP request is a view of its
// head: a value is made only when a rule asks for it.
package metadata
