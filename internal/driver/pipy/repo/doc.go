// Package repo runs pipy in a pod, with the configuration that the control plane renders for it.
//
// In: parts of config.json, which the agent of the pod relays. Out: a server on the loopback address with the repo
// protocol of pipy: the scripts, config.json, and trust.json with the files of trusted authorities. The scripts wait
// for changes of config.json. pipy loads the scripts again when trust.json, or one of its files, changes.
package repo
