// Package ingress has the class and the annotations of Ingresses that the gateway of Anymesh serves.
//
// In: the values of annotations. Out: what they mean, or an error that says what to write instead. An annotation
// applies to each path of its Ingress. The Route trait writes these annotations; users can write them too.
package ingress
