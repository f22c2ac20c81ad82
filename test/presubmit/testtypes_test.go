package presubmit

import (
	"go/ast"
	"go/token"
	"slices"
)

// receiverOf returns the name of the type of a method's receiver; empty for a function.
func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	return typeName(f.Recv.List[0].Type)
}

// typeName returns the name of a type of the package, or of a pointer to it; empty for others.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// typeOf returns the name of the type of a variable where its declaration shows it; else it is empty.
func (p *testPackages) typeOf(folder string, x ast.Expr) string {
	id, is := x.(*ast.Ident)
	if !is || id.Obj == nil {
		return ""
	}
	switch d := id.Obj.Decl.(type) {
	case *ast.Field:
		return typeName(d.Type)
	case *ast.ValueSpec:
		return typeName(d.Type)
	case *ast.AssignStmt:
		for i, left := range d.Lhs {
			if l, is := left.(*ast.Ident); !is || l.Name != id.Name {
				continue
			}
			if over, is := d.Rhs[0].(*ast.UnaryExpr); is && over.Op == token.RANGE {
				return elementType(over.X)
			}
			if len(d.Rhs) == len(d.Lhs) {
				return p.typeOfValue(folder, d.Rhs[i], 0)
			}
			return p.typeOfValue(folder, d.Rhs[0], i)
		}
	}
	return ""
}

// typeOfValue is typeOf for the value of a literal, or for a result of a function of the package.
func (p *testPackages) typeOfValue(folder string, x ast.Expr, result int) string {
	switch x := x.(type) {
	case *ast.UnaryExpr:
		return p.typeOfValue(folder, x.X, result)
	case *ast.CompositeLit:
		return typeName(x.Type)
	case *ast.CallExpr:
		name, receiver := "", ""
		switch f := x.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name, receiver = f.Sel.Name, p.typeOf(folder, f.X)
		}
		for _, d := range p.declared[folder][name] {
			if results := d.Type.Results; receiverOf(d) == receiver && results != nil && result < len(results.List) {
				return typeName(results.List[result].Type)
			}
		}
	}
	return ""
}

// elementType returns the name of the type of the elements of a parameter.
func elementType(x ast.Expr) string {
	if id, is := x.(*ast.Ident); is && id.Obj != nil {
		if f, is := id.Obj.Decl.(*ast.Field); is {
			if list, is := f.Type.(*ast.ArrayType); is {
				return typeName(list.Elt)
			}
		}
	}
	return ""
}

// hasTest reports whether a parameter, or a field, is of package testing.
func hasTest(fields *ast.FieldList) bool {
	return slices.ContainsFunc(fields.List, func(p *ast.Field) bool {
		of := p.Type
		if star, is := of.(*ast.StarExpr); is {
			of = star.X
		}
		s, is := of.(*ast.SelectorExpr)
		if !is {
			return false
		}
		x, is := s.X.(*ast.Ident)
		return is && x.Name == "testing"
	})
}
