package main

import (
	"encoding/json"
	"log"
	"net/http"
)

// apiServer serves /mutate with a patch that labels the object, and the API group tests.sandbox, version v1.
func apiServer() http.Handler {
	mux := http.NewServeMux()
	answer := func(path string, f func(r *http.Request) any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(f(r)); err != nil {
				log.Print(err)
			}
		})
	}
	type object = map[string]any
	answer("/mutate", func(r *http.Request) any {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			log.Print(err)
		}
		patch := []byte(`[{"op":"add","path":"/metadata/labels","value":{"mutated":"yes"}}]`)
		return object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": object{
			"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": patch,
		}}
	})
	answer("/apis/tests.sandbox/v1", func(*http.Request) any {
		return object{"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "tests.sandbox/v1", "resources": []object{
			{"name": "whoami", "namespaced": false, "kind": "WhoAmI", "verbs": []string{"list"}},
		}}
	})
	answer("/apis/tests.sandbox/v1/whoami", func(r *http.Request) any {
		return object{
			"apiVersion": "tests.sandbox/v1", "kind": "WhoAmIList", "metadata": object{},
			"user": r.Header.Get("X-Remote-User"),
		}
	})
	return mux
}
