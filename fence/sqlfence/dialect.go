package sqlfence

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

// Dialect names a kind of database: [Postgres], [MySQL] or [SQLite].
type Dialect string

// dialect is all that differs between databases. A new one is a .sql file with the
// same statement names, a .go file that fills in this struct, and a line below.
type dialect struct {
	text       string               // the .sql file
	positional bool                 // its parameters are sent as ?, without their numbers
	levels     []sql.IsolationLevel // those that Options.Isolation may ask for; the first is the default
	shared     []sql.IsolationLevel // the same with Options.AnyOrder

	// How errors are told apart without linking a driver. Each looks through the
	// whole chain.
	contended     func(error) bool // the database gave up and changed nothing
	wrongTable    func(error) bool // a table or column of ours is missing or of another kind
	duplicateKey  func(error) bool // a row with that key is there already
	commitRefused func(error) bool // an answer to COMMIT that proves that nothing was applied
}

var dialects = map[Dialect]*dialect{
	Postgres: &postgres,
	MySQL:    &mysql,
	SQLite:   &sqlite,
}

func (d Dialect) known() (*dialect, error) {
	if known := dialects[d]; known != nil {
		return known, nil
	}
	return nil, fmt.Errorf("sqlfence: unknown dialect %q, want one of %q", string(d), slices.Sorted(maps.Keys(dialects)))
}

func level(asked sql.IsolationLevel, levels []sql.IsolationLevel) (sql.IsolationLevel, error) {
	if asked == sql.LevelDefault {
		return levels[0], nil
	}
	if !slices.Contains(levels, asked) {
		return 0, fmt.Errorf("sqlfence: isolation level %v is not one of %v", asked, levels)
	}
	return asked, nil
}
