// Package config holds the objects of the proxy: listeners, clusters, endpoints, rule lists, rules and routes.
//
// In: YAML or JSON, as a file or as the body of an API request. Out: checked objects. Whatever the proxy does not
// support is an error that names the object and the field.
package config
