package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// replica is one process of a service of which one at a time runs the jobs.
type replica struct {
	name  string
	locks *etcdfence.Adapter
	store *fence.Memory // stands for the database that all replicas write to
	jobs  chan string
	slow  func(job string) (result string)
	wrote chan error // the answer to each write
}

// snippet: lead
func (r *replica) run(ctx context.Context) error {
	return etcdfence.Lead(ctx, r.locks, "scheduler", r.name, nil,
		func(ctx context.Context, l *etcdfence.Leadership) error {
			w, err := etcdfence.Bind(ctx, l.Hold, r.store) // older leaders are refused from here on
			if err != nil {
				return err
			}
			for {
				select {
				case <-ctx.Done(): // no longer the leader, or the process ends
					return context.Cause(ctx)
				case job := <-r.jobs:
					if err := r.do(ctx, w, job); err != nil {
						return err
					}
				}
			}
		})
}

// end snippet

// do runs one job. The write goes out however late it is: the store decides.
func (r *replica) do(ctx context.Context, w *etcdfence.Bound[*fence.MemoryTx], job string) error {
	result := r.slow(job)
	err := w.Apply(context.WithoutCancel(ctx), func(_ context.Context, tx *fence.MemoryTx) error {
		tx.Put("last", result)
		return nil
	})
	r.wrote <- err
	return err
}

// snippet: observe
func onlooker(ctx context.Context, locks *etcdfence.Adapter, tell func(string)) error {
	for leader, err := range locks.Observe(ctx, "scheduler") {
		switch {
		case errors.Is(err, etcdfence.ErrNoLeader):
			tell("nobody leads")
		case err != nil: // the loop ends with it
			return err
		default:
			tell(fmt.Sprintf("%s leads", leader.Value))
		}
	}
	return nil
}

// end snippet
