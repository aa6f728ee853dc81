package sqlfence

import (
	"database/sql"
	_ "embed"
	"errors"
	"slices"
	"strings"
)

// Postgres is PostgreSQL (tested with 15), through any driver whose errors have a method
// SQLState() string, as those of pgx and lib/pq do.
const Postgres Dialect = "postgres"

//go:embed postgres.sql
var postgresSQL string

var postgres = dialect{
	text:   postgresSQL,
	levels: []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},
	shared: []sql.IsolationLevel{sql.LevelReadCommitted}, // see "create share" in postgres.sql

	contended: func(err error) bool {
		// serialization_failure, deadlock_detected, lock_not_available
		return slices.Contains([]string{"40001", "40P01", "55P03"}, sqlState(err))
	},

	wrongTable: func(err error) bool {
		return slices.Contains([]string{
			"42P01", // undefined_table
			"3F000", // invalid_schema_name
			"42703", // undefined_column
			"42P10", // invalid_column_reference: nothing unique for ON CONFLICT
			"42804", // datatype_mismatch
			"42883", // undefined_function: an operator that the column's type lacks, or our own
			"42809", // wrong_object_type
		}, sqlState(err))
	},

	duplicateKey: func(err error) bool { return sqlState(err) == "23505" },

	commitRefused: func(err error) bool {
		// COMMIT of a transaction in which a statement had failed is answered with
		// "ROLLBACK" and no error; drivers make up one of their own, without a code.
		for _, text := range []string{
			"commit unexpectedly resulted in rollback",             // pgx
			"could not complete operation in a failed transaction", // lib/pq
		} {
			if strings.Contains(strings.ToLower(err.Error()), text) {
				return true
			}
		}
		state := sqlState(err)
		if len(state) != 5 || state == "40003" { // statement_completion_unknown says it itself
			return false
		}
		// A server that is shut down, or fails inside, or a pooler that lost its server,
		// may say so after the commit record was written. All the rest is a refusal.
		return !slices.ContainsFunc([]string{"08", "57P", "58", "XX"}, func(class string) bool {
			return strings.HasPrefix(state, class)
		})
	},
}

func sqlState(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}
