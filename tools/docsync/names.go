package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

// packages has what each package declares: "Name", and "Type.Member" for methods and
// fields. Packages of one name are taken together; programs are left out.
type packages map[string]map[string]bool

var nameInCode = regexp.MustCompile("`\\*?(\\w+)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?[^`]*`")

// unknown returns a problem for each name in backquotes that its package lacks.
func (p packages) unknown(document, text string) (problems []problem) {
	for number, line := range prose(text) {
		for _, m := range nameInCode.FindAllStringSubmatch(line, -1) {
			declared, ours := p[m[1]]
			name := m[2]
			if m[3] != "" && !declared[name+".*"] {
				name += "." + m[3]
			}
			if ours && !declared[name] {
				problems = append(problems, problem{document, number, m[1] + "." + name + " is not declared"})
			}
		}
	}
	return problems
}

// declared reads every package below root.
func declared(root string) (packages, error) {
	all := packages{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && ignored(d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if name := file.Name.Name; name != "main" {
			if all[name] == nil {
				all[name] = map[string]bool{}
			}
			for _, d := range file.Decls {
				declare(all[name], d)
			}
		}
		return nil
	})
	return all, err
}

func declare(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = base(d.Recv.List[0].Type) + "." + name
		}
		names[name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				switch t := s.Type.(type) {
				case *ast.StructType:
					members(names, s.Name.Name, t.Fields)
				case *ast.InterfaceType:
					members(names, s.Name.Name, t.Methods)
				}
			}
		}
	}
}

// members declares the members of a type; "Type.*" if it may have others by embedding.
func members(names map[string]bool, of string, list *ast.FieldList) {
	for _, f := range list.List {
		for _, n := range f.Names {
			names[of+"."+n.Name] = true
		}
		if f.Names == nil {
			names[of+".*"] = true
		}
	}
}

// base is the name of a receiver's type.
func base(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return base(t.X)
	case *ast.IndexExpr:
		return base(t.X)
	case *ast.IndexListExpr:
		return base(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
