package sqlfence

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

// Dialect names a kind of database: [Postgres] or [SQLite].
type Dialect string

// dialect is all that differs between databases. A new one is a .sql file with the
// same statement names, a .go file that fills in this struct, and a line below.
type dialect struct {
	text   string               // the .sql file
	levels []sql.IsolationLevel // those that Options.Isolation may ask for; the first is the default

	// How errors are told apart without linking a driver. Each looks through the
	// whole chain.
	contended     func(error) bool // the database gave up and changed nothing
	wrongTable    func(error) bool // a table or column of ours is missing or of another kind
	commitRefused func(error) bool // an answer to COMMIT that proves that nothing was applied
}

var dialects = map[Dialect]*dialect{
	Postgres: &postgres,
	SQLite:   &sqlite,
}

func (d Dialect) known() (*dialect, error) {
	if known := dialects[d]; known != nil {
		return known, nil
	}
	return nil, fmt.Errorf("sqlfence: unknown dialect %q, want one of %q", string(d), slices.Sorted(maps.Keys(dialects)))
}

func (d *dialect) isolation(asked sql.IsolationLevel) (sql.IsolationLevel, error) {
	if asked == sql.LevelDefault {
		return d.levels[0], nil
	}
	if !slices.Contains(d.levels, asked) {
		return 0, fmt.Errorf("sqlfence: isolation level %v is not one of %v", asked, d.levels)
	}
	return asked, nil
}
