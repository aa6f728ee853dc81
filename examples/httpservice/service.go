package main

import (
	"context"
	"encoding/json"
	"net/http"

	"database/sql"

	"github.com/etcdfence/etcdfence/fence/httpfence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// account is what the service tells and takes.
type account struct {
	Balance int    `json:"balance"`
	By      string `json:"by"`
}

// snippet: service

// service has one account behind the lock "accounts". It knows nothing of etcd.
func service(ctx context.Context, db *sql.DB, dialect sqlfence.Dialect) (http.Handler, error) {
	marks, err := sqlfence.New(db, dialect, &sqlfence.Options{Lock: "accounts"})
	if err != nil {
		return nil, err
	}
	if err := marks.EnsureSchema(ctx); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /account", read(db))
	mux.Handle("PUT /account", httpfence.Handler(httpfence.Enforce(marks), http.HandlerFunc(write), nil))
	mux.Handle("/fence", httpfence.Marks(marks)) // claims, and the mark
	return mux, nil
}

// write is the change of the fence: it runs in the transaction that compares the stamp, and
// what it answers is sent when that transaction is certain.
func write(w http.ResponseWriter, r *http.Request) {
	tx, err := httpfence.Tx[*sql.Tx](r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var a account
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest) // nothing is written, no stamp used
		return
	}
	if _, err := tx.ExecContext(r.Context(), "UPDATE account SET balance = $1, by = $2", a.Balance, a.By); err != nil {
		http.Error(w, "the account cannot be written", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// end snippet

func read(db *sql.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var a account
		if err := db.QueryRowContext(r.Context(), "SELECT balance, by FROM account").Scan(&a.Balance, &a.By); err != nil {
			http.Error(w, "the account cannot be read", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // or the client has gone
	}
}
