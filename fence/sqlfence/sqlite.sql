-- The atomic step of the SQLite dialect. It is real SQL with the default names;
-- fence_marks, fence_rows and row_key are replaced by yours.
--
-- ?1 lock, ?2 owner, ?3 epoch, ?4 revision, ?5 sequence, in every statement.

-- One row for each lock: its mark. SQLite takes any type in any column, so the checks
-- keep floating point numbers out.
-- name: create marks
CREATE TABLE IF NOT EXISTS fence_marks (
    lock_name   TEXT    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL,
    epoch       INTEGER NOT NULL CHECK (typeof(epoch) = 'integer' AND epoch >= 0),
    revision    INTEGER NOT NULL CHECK (typeof(revision) = 'integer' AND revision >= 1),
    sequence    INTEGER NOT NULL CHECK (typeof(sequence) = 'integer' AND sequence >= 0),
    accepted_at TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITHOUT ROWID

-- One row for each operation id that was done under a lock.
-- name: create operations
CREATE TABLE IF NOT EXISTS fence_marks_operations (
    lock_name   TEXT    NOT NULL,
    operation   TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    epoch       INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    result      BLOB,
    done_at     TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (lock_name, operation)
)

-- Fails unless both tables exist.
-- name: probe
SELECT m.lock_name, m.owner, m.epoch, m.revision, m.sequence, m.accepted_at,
       o.lock_name, o.operation, o.owner, o.epoch, o.revision, o.sequence, o.result, o.done_at
  FROM fence_marks m, fence_marks_operations o
 LIMIT 0

-- The one rule. A newer generation, or the same one of the same owner further on.
-- SQLite has one writer at a time: whoever runs this is that writer to the end of its
-- transaction, also when the answer is a refusal.
-- name: advance
UPDATE fence_marks
   SET owner = ?2, epoch = ?3, revision = ?4, sequence = ?5, accepted_at = CURRENT_TIMESTAMP
 WHERE lock_name = ?1
   AND ((epoch, revision) < (?3, ?4)
        OR (epoch, revision, owner) = (?3, ?4, ?2) AND sequence < ?5)

-- The first stamp ever.
-- name: first
INSERT INTO fence_marks (lock_name, owner, epoch, revision, sequence)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (lock_name) DO NOTHING

-- For stamps of one hold in any order. Nothing need be locked: there is one writer at a
-- time, and one that has read an older file than it would write to fails.
-- name: shared mark
SELECT lock_name, owner, epoch, revision, sequence
  FROM fence_marks
 WHERE lock_name = ?1

-- To explain a refusal, never to decide.
-- name: mark
SELECT lock_name, owner, epoch, revision, sequence
  FROM fence_marks
 WHERE lock_name = ?1

-- name: marks
SELECT lock_name, owner, epoch, revision, sequence
  FROM fence_marks
 ORDER BY lock_name

-- Sets the mark if it is the one that was named: owner ?6, epoch ?7, revision ?8, sequence ?9.
-- name: rebase
UPDATE fence_marks
   SET owner = ?2, epoch = ?3, revision = ?4, sequence = ?5, accepted_at = CURRENT_TIMESTAMP
 WHERE lock_name = ?1
   AND (owner, epoch, revision, sequence) = (?6, ?7, ?8, ?9)

-- name: operation
SELECT lock_name, owner, epoch, revision, sequence, result
  FROM fence_marks_operations
 WHERE lock_name = ?1 AND operation = ?2

-- name: record operation
INSERT INTO fence_marks_operations (lock_name, owner, epoch, revision, sequence, operation, result)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- The mark in the row that it guards. SQLite adds one column at a time and cannot be
-- told to skip one that exists.
-- name: row columns
ALTER TABLE fence_rows ADD COLUMN fence_lock     TEXT;
ALTER TABLE fence_rows ADD COLUMN fence_owner    TEXT;
ALTER TABLE fence_rows ADD COLUMN fence_epoch    INTEGER;
ALTER TABLE fence_rows ADD COLUMN fence_revision INTEGER;
ALTER TABLE fence_rows ADD COLUMN fence_sequence INTEGER

-- name: row set
fence_lock = ?1, fence_owner = ?2, fence_epoch = ?3, fence_revision = ?4, fence_sequence = ?5

-- The one rule once more. A row that was never fenced takes any stamp, but not none.
-- name: row where
((COALESCE(fence_revision, 0) = 0 AND ?4 >= 1)
  OR (fence_lock = ?1
      AND ((fence_epoch, fence_revision) < (?3, ?4)
           OR (fence_epoch, fence_revision, fence_owner) = (?3, ?4, ?2) AND fence_sequence < ?5)))

-- The row has exactly this mark; a revision of 0 stands for none.
-- name: row is
((COALESCE(fence_revision, 0) = 0 AND ?4 = 0)
  OR (fence_lock, fence_owner, fence_epoch, fence_revision, fence_sequence) = (?1, ?2, ?3, ?4, ?5))

-- name: row key
row_key = ?1

-- name: row mark
SELECT fence_lock, fence_owner, fence_epoch, fence_revision, fence_sequence
  FROM fence_rows
 WHERE row_key = ?1
