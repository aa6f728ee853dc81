-- The atomic step of the MySQL dialect, for MySQL and MariaDB. It is real SQL with the
-- default names, but for the numbers: MySQL's parameters have none. ?2 is sent as ?, with
-- the second value in its place. fence_marks, fence_rows and row_key are replaced by yours.
--
-- ?1 lock, ?2 owner, ?3 epoch, ?4 revision, ?5 sequence, in every statement.

-- One row for each lock: its mark. Names are bytes: to a collation, even to utf8mb4_bin,
-- some different names are equal ('a' and 'a '). InnoDB, because other engines cannot
-- roll back. A revision of 0 is no mark yet: see "seed".
-- name: create marks
CREATE TABLE IF NOT EXISTS fence_marks (
    lock_name   VARBINARY(512) NOT NULL PRIMARY KEY,
    owner       VARBINARY(256) NOT NULL,
    epoch       BIGINT NOT NULL CHECK (epoch >= 0),
    revision    BIGINT NOT NULL CHECK (revision >= 0),
    sequence    BIGINT NOT NULL CHECK (sequence >= 0),
    accepted_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC

-- One row for each operation id that was done under a lock.
-- name: create operations
CREATE TABLE IF NOT EXISTS fence_marks_operations (
    lock_name   VARBINARY(512) NOT NULL,
    operation   VARBINARY(200) NOT NULL,
    owner       VARBINARY(256) NOT NULL,
    epoch       BIGINT NOT NULL,
    revision    BIGINT NOT NULL,
    sequence    BIGINT NOT NULL,
    result      LONGBLOB,
    done_at     DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    PRIMARY KEY (lock_name, operation)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC

-- Fails unless both tables exist and have a primary key.
-- name: probe
SELECT m.lock_name, m.owner, m.epoch, m.revision, m.sequence, m.accepted_at,
       o.lock_name, o.operation, o.owner, o.epoch, o.revision, o.sequence, o.result, o.done_at
  FROM fence_marks m FORCE INDEX (PRIMARY), fence_marks_operations o FORCE INDEX (PRIMARY)
 LIMIT 0

-- The one rule. A newer generation, or the same one of the same owner further on.
-- While another transaction holds the row this waits, then looks at the row as it is.
-- A row that matches always changes, so that one is counted with and without the
-- driver's clientFoundRows. (The count of an INSERT .. ON DUPLICATE KEY UPDATE could not
-- tell accepted from refused with it.)
-- name: advance
UPDATE fence_marks
   SET owner = ?2, epoch = ?3, revision = ?4, sequence = ?5, accepted_at = CURRENT_TIMESTAMP(6)
 WHERE lock_name = ?1
   AND ((epoch, revision) < (?3, ?4)
        OR (epoch, revision, owner) = (?3, ?4, ?2) AND sequence < ?5)

-- The row of a lock that never had one, older than every stamp. By itself, before the
-- transaction: inside, two that found no row would insert each into the other's gap and
-- dead-lock. It may be run again at any time, and says nothing by its count.
-- name: seed
INSERT INTO fence_marks (lock_name, owner, epoch, revision, sequence)
VALUES (?1, '', 0, 0, 0)
ON DUPLICATE KEY UPDATE lock_name = lock_name

-- For stamps of one hold in any order: many may hold this lock on the row at once, and
-- "advance" waits until they have ended. It reads the row as it is when it gets the lock,
-- at every isolation level.
-- name: shared mark
SELECT lock_name, owner, epoch, revision, sequence
  FROM fence_marks
 WHERE lock_name = ?1
  LOCK IN SHARE MODE

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
   SET owner = ?2, epoch = ?3, revision = ?4, sequence = ?5, accepted_at = CURRENT_TIMESTAMP(6)
 WHERE lock_name = ?1
   AND (owner, epoch, revision, sequence) = (?6, ?7, ?8, ?9)

-- name: operation
SELECT lock_name, owner, epoch, revision, sequence, result
  FROM fence_marks_operations
 WHERE lock_name = ?1 AND operation = ?2

-- name: record operation
INSERT INTO fence_marks_operations (lock_name, owner, epoch, revision, sequence, operation, result)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- The mark in the row that it guards. MySQL cannot be told to skip columns that exist.
-- name: row columns
ALTER TABLE fence_rows
    ADD COLUMN fence_lock     VARBINARY(512),
    ADD COLUMN fence_owner    VARBINARY(256),
    ADD COLUMN fence_epoch    BIGINT,
    ADD COLUMN fence_revision BIGINT,
    ADD COLUMN fence_sequence BIGINT

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
