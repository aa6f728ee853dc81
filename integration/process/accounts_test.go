//go:build unix

package process_test

import (
	"context"
	"database/sql"
	"net/url"

	_ "modernc.org/sqlite"

	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

const lock = "account/1"

// accounts is the resource: an SQLite file that both processes have open.
type accounts struct {
	db    *sql.DB
	marks *sqlfence.Resource
}

func openAccounts(ctx context.Context, file string) (*accounts, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?"+url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(20000)", "journal_mode(wal)"},
	}.Encode())
	if err != nil {
		return nil, err
	}
	marks, err := sqlfence.New(db, sqlfence.SQLite, &sqlfence.Options{Lock: lock})
	if err == nil {
		err = marks.EnsureSchema(ctx)
	}
	if err == nil {
		_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS accounts (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
			INSERT INTO accounts VALUES (1, 'nothing') ON CONFLICT DO NOTHING`)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return &accounts{db, marks}, nil
}
