package aggregate

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"anymesh.dev/anymesh/internal/fleet"
)

// view is what a request sees of the clusters and registries. It is immutable.
type view struct {
	// members are ordered by name.
	members  []fleet.Member
	selected selected
}

func (v *view) member(name string) (fleet.Member, bool) {
	i, ok := slices.BinarySearchFunc(v.members, name, func(m fleet.Member, n string) int { return cmp.Compare(m.Name, n) })
	if !ok {
		return fleet.Member{}, false
	}
	return v.members[i], true
}

// kinds returns the registered kinds.
func (v *view) kinds() []*registered { return slices.Collect(maps.Values(v.selected.kinds)) }

// uidOf returns metadata.uid of an object.
func uidOf(text []byte) (string, error) {
	var o struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return "", err
	}
	if o.Metadata.UID == "" {
		return "", errors.New("the object has no uid")
	}
	return o.Metadata.UID, nil
}
