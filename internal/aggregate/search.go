package aggregate

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// searchPath is the path of the search of the cache: /search/cache/<path> lists objects of registered kinds.
var searchPath = prefix + "/search/cache/"

// checkSearch refuses requests of the search that the cache does not answer. The search of Karmada has neither watches
// nor other requests.
func checkSearch(c call) error {
	if c.Method != http.MethodGet || c.URL.Query().Has("watch") {
		return apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "search"},
			strings.ToLower(c.Method)+"; use the path /proxying for it, "+c.Method)
	}
	if _, registered := c.view.selected.kinds[c.resource()]; !registered || c.info.Subresource != "" {
		return apierrors.NewNotFound(c.resource().GroupResource(),
			strings.TrimPrefix(c.URL.Path, "/")+": no ResourceRegistry selects it")
	}
	return nil
}
