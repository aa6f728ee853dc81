// Package sqlfence is a [fence.FencedResource] in a SQL database, through
// database/sql. It links no driver: bring your own.
//
// It is like fence's memory.go, but atomic by a transaction whose first statement is
// a conditional UPDATE of the mark. That statement is the one named "advance" in
// postgres.sql, mysql.sql and sqlite.sql; nothing else decides.
//
//	marks, err := sqlfence.New(db, sqlfence.Postgres, nil)
//	err = marks.EnsureSchema(ctx) // once; or run what marks.Schema() prints
//
//	err = marks.Claim(ctx, token) // before the first read
//	err = marks.Apply(ctx, stamp, func(ctx context.Context, tx *sql.Tx) error {
//		_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = $1 WHERE id = $2", balance, id)
//		return err
//	})
//
// There are three ways in: [Resource.Apply] runs the transaction; [Resource.Admit] is
// the first statement of a transaction of your own; [InRow] needs no transaction and
// keeps the mark in the row that it guards ([Row] is the same to be bound to a hold).
//
// # Authority
//
// The database alone decides, from the mark it stored. It never asks etcd whether a
// lease is alive. A mark is as durable as the data beside it: with synchronous_commit
// or fsync off, or after a failover to a replica that lagged, both may go back, and
// then an older stamp is accepted again.
//
// # States
//
//	no row --first--> mark --advance--> newer mark --advance--> ...
//	                   |
//	                   +-- older, equal, or another owner: refused, unchanged
//
// # Isolation
//
// READ COMMITTED is right, and best: a statement that had to wait for another writer
// looks at the row anew. REPEATABLE READ and SERIALIZABLE are right too, but PostgreSQL
// answers most overlaps with a serialisation failure, also to the rightful holder, which
// comes back as [fence.ErrContended]; MySQL locks the gap where a missing row would be. In
// SQLite begin transactions IMMEDIATE (_txlock=immediate), set a busy timeout and use WAL.
//
// Whatever the level, what a transaction read before Admit is not protected. Reads
// after a claim, and reads after Admit, are.
//
// # Locks
//
// An accepted stamp keeps the lock's one mark row locked until the transaction ends,
// so transactions under one lock run one after another. Keep them short, and let no
// network call happen inside. A refused stamp locks nothing in PostgreSQL; in SQLite it
// is the one writer until it rolls back. The cost of a fence is that hot row, not the
// comparison: the mark's granularity is the unit of ordering, so use one lock for each
// thing that needs an order, or the in-row form.
//
// MySQL wants the mark's row to be there before a transaction locks it. Apply and Claim see
// to that with a statement of its own on another connection, once for each lock; Admit, in
// your transaction, cannot. So claim before the first Admit, or some first ones dead-lock.
//
// # In any order
//
// [Options.AnyOrder] lets many transactions of one hold run at once: each holds the mark
// down, together with the others, and compares. A newer token waits until they have ended,
// and then nothing of the older hold lands any more. What is lost is the order within one
// hold: a stamp may come twice or late. Name operations where that matters; two that do
// the same one at once are told apart by the table's key.
//
// In PostgreSQL the mark is held down by an advisory lock, which only those see who ask for
// it: a claim always does, a strict write does not. So a newer holder must claim before it
// writes, as Bind does, or set AnyOrder too. The function that asks, and the READ COMMITTED
// that it needs, are in postgres.sql. MySQL locks the row itself, in share mode. SQLite has
// one writer at a time anyway and gains nothing.
//
// # Time
//
// No clock takes part. The columns accepted_at and done_at are for people.
//
// # Failure
//
// Before COMMIT is sent every error means that nothing was applied, provided that the change
// returns the errors of its statements. One that hides them gets a refused COMMIT in
// PostgreSQL; in MySQL, where a deadlock ends the transaction at once, all that it does
// afterwards would be done by itself and without a fence.
//
// An answer to COMMIT that is lost, or is no plain refusal, is [fence.ErrUnknownOutcome]:
// send the same stamp again, and [fence.ErrReplayed] with a mark equal to it says that it
// had been applied. Deadlocks, serialisation failures, lock timeouts and a busy file are
// [fence.ErrContended].
//
// # Keeping marks
//
// Marks are never deleted, and only [Resource.Rebase] takes one back, from the one that you
// name to the one that you name. Removing a row forgets the order and lets any old stamp in;
// do it only for lock names that will never be used again. Rows of the operations table
// may be deleted once no repeat can come any more.
//
// # What is not protected
//
// Writers that do not come this way; other tables, if you let them be written outside
// the fenced transaction; effects outside the database; DDL. A trigger or a rule that
// swallows the UPDATE of the marks table breaks the fence. So do tables of an engine that
// cannot roll back, such as MyISAM. Restoring the database from a backup takes the marks
// back with the data.
package sqlfence
