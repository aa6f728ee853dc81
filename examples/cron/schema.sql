-- One row for each report. The last three columns are its mark: the token and the number of
-- the write that it was made with.
CREATE TABLE reports (
    name           text   PRIMARY KEY,
    body           text   NOT NULL DEFAULT '',
    fence_epoch    bigint NOT NULL DEFAULT 0,
    fence_revision bigint NOT NULL DEFAULT 0
);
