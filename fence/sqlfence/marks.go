package sqlfence

import (
	"context"

	"github.com/etcdfence/etcdfence/fence"
)

// Marks returns all marks of the table, in the order of their locks' names, also those of
// other locks than the one in Options: for an operator, as after a restore of etcd, when
// every mark above the cluster's revision shuts out the holders to come. Errors are those
// of [Resource.Mark]; a damaged mark fails the whole call.
func (r *Resource) Marks(ctx context.Context) ([]fence.Stamp, error) {
	rows, err := r.db.QueryContext(ctx, r.stmt["marks"].text)
	if err != nil {
		return nil, r.dialect.ours(ctx, "read the marks", err)
	}
	defer rows.Close()
	var marks []fence.Stamp
	for rows.Next() {
		mark, err := scanStamp(rows)
		if err != nil {
			return nil, r.dialect.ours(ctx, "read the marks", err)
		}
		marks = append(marks, mark)
	}
	return marks, r.dialect.ours(ctx, "read the marks", rows.Err())
}
