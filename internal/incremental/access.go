package incremental

import (
	"fmt"
	"reflect"
)

// handle is implemented by Reader and Emitter.
type handle interface{ declaredBy() *Rule }

func (r *Reader[K, V]) declaredBy() *Rule  { return r.rule }
func (e *Emitter[K, V]) declaredBy() *Rule { return e.rule }

// unrestricted is implemented by types that give access to relations without a declaration.
type unrestricted interface{ unrestricted() }

func (*Relation[K, V]) unrestricted() {}
func (*Graph) unrestricted()          {}
func (*Rule) unrestricted()           {}

var (
	handleType       = reflect.TypeFor[handle]()
	unrestrictedType = reflect.TypeFor[unrestricted]()
)

// checkAccess panics if the access of a rule is not what the rule declares. It makes mistakes visible at the start, not
// when an evaluation takes a rare path.
func checkAccess(r *Rule, access any) {
	c := accessCheck{rule: r, seen: map[uintptr]bool{}}
	c.check(reflect.ValueOf(access), "")
}

type accessCheck struct {
	rule *Rule
	seen map[uintptr]bool
}

func (c *accessCheck) check(v reflect.Value, path string) {
	if !v.IsValid() {
		return
	}
	switch t := v.Type(); {
	case t.Implements(handleType):
		if v.IsNil() {
			panic(fmt.Sprintf("incremental: rule %s does not declare %s%s", c.rule.name, t, path))
		}
		// The field may be unexported, so that its methods cannot be called.
		if v.Elem().FieldByName("rule").Pointer() != reflect.ValueOf(c.rule).Pointer() {
			panic(fmt.Sprintf("incremental: rule %s has a handle of another rule: %s%s", c.rule.name, t, path))
		}
	case t.Implements(unrestrictedType):
		panic(fmt.Sprintf("incremental: rule %s has access to %s%s; declare it with Reads or Emits", c.rule.name, t, path))
	case t.Kind() == reflect.Struct:
		for i := range v.NumField() {
			c.check(v.Field(i), path+" "+t.Field(i).Name)
		}
	case t.Kind() == reflect.Pointer:
		if !v.IsNil() && !c.seen[v.Pointer()] {
			c.seen[v.Pointer()] = true
			c.check(v.Elem(), path)
		}
	case t.Kind() == reflect.Interface:
		c.check(v.Elem(), path)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		for i := range v.Len() {
			c.check(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case t.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			c.check(v.MapIndex(key), fmt.Sprintf("%s[%v]", path, key))
		}
	}
}
