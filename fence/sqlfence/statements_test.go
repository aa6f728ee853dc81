package sqlfence

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The names that Go code asks for. Every dialect has all of them.
var names = []string{
	"create marks", "create operations", "probe", "advance", "mark", "marks", "shared mark", "rebase",
	"operation", "record operation", "row columns", "row set", "row where", "row is", "row key", "row mark",
}

// Those that are a dialect's own.
var more = map[Dialect][]string{
	Postgres: {"first", "create share", "probe share", "exclude"},
	SQLite:   {"first"},
	MySQL:    {"seed"},
}

func TestStatementsOfEveryDialect(t *testing.T) {
	for name, d := range dialects {
		t.Run(string(name), func(t *testing.T) {
			stmts := parse(d.text)
			wanted := slices.Concat(names, more[name])
			for _, name := range wanted {
				if stmts[name] == "" {
					t.Errorf("no statement %q", name)
				}
			}
			if len(stmts) != len(wanted) {
				t.Errorf("%d statements, want %d", len(stmts), len(wanted))
			}
			for name, s := range stmts {
				if strings.Contains(s, "--") || strings.HasSuffix(s, ";") {
					t.Errorf("%s has a comment or a semicolon at its end:\n%s", name, s)
				}
			}
			if len(d.levels) == 0 || len(d.shared) == 0 || d.contended == nil || d.wrongTable == nil ||
				d.duplicateKey == nil || d.commitRefused == nil {
				t.Error("the dialect is incomplete")
			}
		})
	}
}

// The comparison is strict, in both forms and every dialect: <= would let a replay pass.
func TestComparisonIsStrict(t *testing.T) {
	for name, d := range dialects {
		stmts := parse(d.text)
		for _, s := range []string{"advance", "row where"} {
			if text := stmts[s]; strings.Contains(text, "<=") || strings.Count(text, "<") != 2 {
				t.Errorf("%s, %s:\n%s", name, s, text)
			}
		}
	}
}

func TestNamesAreReplaced(t *testing.T) {
	for name, d := range dialects {
		for what, s := range parse(d.text, DefaultTable, "billing.marks", "fence_rows", "accounts", "row_key", "id") {
			for _, left := range []string{DefaultTable, "fence_rows", "row_key"} {
				if strings.Contains(s, left) {
					t.Errorf("%s, %s still says %s:\n%s", name, what, left, s)
				}
			}
		}
	}
}

func TestRenumber(t *testing.T) {
	for _, c := range [][2]string{
		{"a = $1, b = $2 AND $1 > 0", "a = $11, b = $12 AND $11 > 0"},
		{"a = ?1, b = ?5", "a = ?11, b = ?15"},
	} {
		if got := renumber(11, c[0]); got != c[1] {
			t.Errorf("renumber(11, %q) = %q, want %q", c[0], got, c[1])
		}
		if got := renumber(1, c[0]); got != c[0] {
			t.Errorf("renumber(1, %q) = %q", c[0], got)
		}
	}
}

func TestFragments(t *testing.T) {
	row, err := NewInRow(Postgres, "accounts", "id")
	if err != nil {
		t.Fatal(err)
	}
	want := "fence_lock = $3, fence_owner = $4, fence_epoch = $5, fence_revision = $6, fence_sequence = $7"
	if got := row.Set(3); got != want {
		t.Errorf("Set(3) = %q", got)
	}
	where := row.Where(3)
	if !strings.HasPrefix(where, "(") || !strings.HasSuffix(where, ")") {
		t.Errorf("Where is not in parentheses, so that OR would swallow the key: %s", where)
	}
	used := regexp.MustCompile(`\$\d+`).FindAllString(where, -1)
	slices.Sort(used)
	if got := slices.Compact(used); !slices.Equal(got, []string{"$3", "$4", "$5", "$6", "$7"}) {
		t.Errorf("Where(3) uses %v", got)
	}
}

func TestCheckIdentifier(t *testing.T) {
	long := strings.Repeat("x", maxIdentifier)
	for name, good := range map[string]bool{
		"fence_marks": true, "_x9": true, "Billing.Marks": true, long: true, long + "." + long: true,
		"": false, ".": false, "a.": false, ".a": false, "a.b.c": false, "9a": false, "a-b": false,
		"a b": false, "a\n": false, `a"`: false, "a;DROP TABLE b": false, "ä": false, "a$": false, long + "x": false,
	} {
		if err := checkIdentifier("table", name, 2, maxIdentifier); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
