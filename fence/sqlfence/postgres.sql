-- The atomic step of the Postgres dialect. It is real SQL with the default names;
-- fence_marks, fence_rows and row_key are replaced by yours.
--
-- $1 lock, $2 owner, $3 epoch, $4 revision, $5 sequence, in every statement.

-- One row for each lock: its mark. COLLATE "C" compares names byte by byte, whatever
-- the database's locale. The free half of a page keeps the updates of a hot row in it.
-- name: create marks
CREATE TABLE IF NOT EXISTS fence_marks (
    lock_name   text   COLLATE "C" PRIMARY KEY,
    owner       text   COLLATE "C" NOT NULL,
    epoch       bigint NOT NULL CHECK (epoch >= 0),
    revision    bigint NOT NULL CHECK (revision >= 1),
    sequence    bigint NOT NULL CHECK (sequence >= 0),
    accepted_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50)

-- One row for each operation id that was done under a lock.
-- name: create operations
CREATE TABLE IF NOT EXISTS fence_marks_operations (
    lock_name   text   COLLATE "C" NOT NULL,
    operation   text   COLLATE "C" NOT NULL,
    owner       text   COLLATE "C" NOT NULL,
    epoch       bigint NOT NULL,
    revision    bigint NOT NULL,
    sequence    bigint NOT NULL,
    result      bytea,
    done_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (lock_name, operation)
)

-- Fails unless both tables exist, with integers where integers belong: | has no
-- meaning for a floating point column, which would confuse numbers beyond 2^53.
-- name: probe
SELECT m.lock_name || m.owner, m.epoch | m.revision | m.sequence, m.accepted_at,
       o.lock_name || o.operation || o.owner, o.epoch | o.revision | o.sequence, o.result, o.done_at
  FROM fence_marks m, fence_marks_operations o
 LIMIT 0

-- The one rule. A newer generation, or the same one of the same owner further on.
-- While another transaction holds the row this waits, then looks at the row anew.
-- A refusal changes nothing and locks nothing.
-- name: advance
UPDATE fence_marks
   SET owner = $2, epoch = $3, revision = $4, sequence = $5, accepted_at = now()
 WHERE lock_name = $1
   AND ((epoch, revision) < ($3, $4)
        OR (epoch, revision, owner) = ($3, $4, $2) AND sequence < $5)

-- The first stamp ever. Of two that race, the second waits and then inserts nothing.
-- name: first
INSERT INTO fence_marks (lock_name, owner, epoch, revision, sequence)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (lock_name) DO NOTHING

-- For stamps of one hold in any order: many may hold its lock at once, and whoever raises
-- the mark waits with "exclude" until they have ended. Locked is a number made of the table
-- and the lock; two locks with one number only wait for each other.
--
-- The mark is compared in the next statement: one statement sees the table as it was before
-- it had to wait. A function that is VOLATILE looks anew with each of its statements, and
-- makes one round trip of two. Above READ COMMITTED it does not, so the level is told too.
--
-- (FOR KEY SHARE on the row would let a newer mark pass; FOR SHARE would keep it waiting
-- for as long as new writers come.)
-- name: create share
CREATE OR REPLACE FUNCTION fence_marks_share(guarded text,
    OUT lock_name text, OUT owner text, OUT epoch bigint, OUT revision bigint, OUT sequence bigint, OUT level text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(
        hashtextextended(guarded COLLATE "C", CAST(CAST('fence_marks' AS regclass) AS bigint)));
    SELECT m.lock_name, m.owner, m.epoch, m.revision, m.sequence
      INTO lock_name, owner, epoch, revision, sequence
      FROM fence_marks m
     WHERE m.lock_name = guarded;
    level := current_setting('transaction_isolation');
END $$

-- name: probe share
SELECT CAST('fence_marks_share(text)' AS regprocedure)
 LIMIT 0

-- name: shared mark
SELECT lock_name, owner, epoch, revision, sequence, level
  FROM fence_marks_share($1)

-- name: exclude
SELECT pg_advisory_xact_lock(
    hashtextextended($1 COLLATE "C", CAST(CAST('fence_marks' AS regclass) AS bigint)))

-- To explain a refusal, never to decide. A statement of its own, since one statement
-- sees the table as it was when the statement began.
-- name: mark
SELECT lock_name, owner, epoch, revision, sequence
  FROM fence_marks
 WHERE lock_name = $1

-- name: marks
SELECT lock_name, owner, epoch, revision, sequence
  FROM fence_marks
 ORDER BY lock_name

-- Sets the mark if it is the one that was named: owner $6, epoch $7, revision $8, sequence $9.
-- name: rebase
UPDATE fence_marks
   SET owner = $2, epoch = $3, revision = $4, sequence = $5, accepted_at = now()
 WHERE lock_name = $1
   AND (owner, epoch, revision, sequence) = ($6, $7, $8, $9)

-- name: operation
SELECT lock_name, owner, epoch, revision, sequence, result
  FROM fence_marks_operations
 WHERE lock_name = $1 AND operation = $2

-- name: record operation
INSERT INTO fence_marks_operations (lock_name, owner, epoch, revision, sequence, operation, result)
VALUES ($1, $2, $3, $4, $5, $6, $7)

-- The mark in the row that it guards.
-- name: row columns
ALTER TABLE fence_rows
    ADD COLUMN IF NOT EXISTS fence_lock     text COLLATE "C",
    ADD COLUMN IF NOT EXISTS fence_owner    text COLLATE "C",
    ADD COLUMN IF NOT EXISTS fence_epoch    bigint,
    ADD COLUMN IF NOT EXISTS fence_revision bigint,
    ADD COLUMN IF NOT EXISTS fence_sequence bigint

-- name: row set
fence_lock = $1, fence_owner = $2, fence_epoch = $3, fence_revision = $4, fence_sequence = $5

-- The one rule once more. A row that was never fenced takes any stamp, but not none.
-- name: row where
((COALESCE(fence_revision, 0) = 0 AND $4 >= CAST(1 AS bigint))
  OR (fence_lock = $1
      AND ((fence_epoch, fence_revision) < ($3, $4)
           OR (fence_epoch, fence_revision, fence_owner) = ($3, $4, $2) AND fence_sequence < $5)))

-- The row has exactly this mark; a revision of 0 stands for none.
-- name: row is
((COALESCE(fence_revision, 0) = 0 AND $4 = CAST(0 AS bigint))
  OR (fence_lock, fence_owner, fence_epoch, fence_revision, fence_sequence) = ($1, $2, $3, $4, $5))

-- name: row key
row_key = $1

-- name: row mark
SELECT fence_lock, fence_owner, fence_epoch, fence_revision, fence_sequence
  FROM fence_rows
 WHERE row_key = $1
