package fencetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
)

// Each name is an operation of its own, however alike a store finds two of them.
func operationBytes[T any](r *run[T]) {
	c := r.main()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	var ids []string
	for _, id := range append(difficult, strings.Repeat("'", fence.MaxOperation)) {
		if len(id) <= fence.MaxOperation {
			ids = append(ids, id)
		}
	}
	result := func(i int) []byte {
		if i == 0 {
			return nil
		}
		return append([]byte{byte(i)}, every...)
	}
	for i, id := range ids {
		s := r.at(5, int64(100+i))
		if o := c.operate(s, id, fmt.Sprint(i), result(i)); o.err != nil {
			r.failf("operation %.40q is fresh; got %v", id, o.err)
		}
	}
	for i, id := range ids {
		c.duplicate(c.operate(r.at(6, 1), id, "twice", result(i+1)).err, id, r.at(5, int64(100+i)), result(i))
	}
	for i, id := range ids { // an answer that was given away must not be the record itself
		var d *fence.DuplicateError
		if err := c.operate(r.at(6, 1), id, "twice", nil).err; errors.As(err, &d) && len(d.Result) > 0 {
			clear(d.Result)
			c.duplicate(c.operate(r.at(6, 1), id, "twice", nil).err, id, r.at(5, int64(100+i)), bytes.Clone(result(i)))
		}
	}
}

// One operation, sent with many stamps at once: it is done once.
func operationRace[T any](r *run[T]) {
	parties := r.callers(4)
	var joins []func()
	outcomes := make([]outcome, len(parties))
	for i, c := range parties {
		joins = append(joins, r.spawn(func() {
			s := r.at(5, int64(i+1))
			outcomes[i] = c.operate(s, "pay", valueOf(s), []byte(valueOf(s)))
		}))
	}
	for _, join := range joins {
		join()
	}
	done, maybe := 0, 0
	for _, o := range outcomes {
		switch {
		case o.maybe:
			maybe++
		case o.err == nil:
			done++
		}
	}
	if done > 1 || done+maybe == 0 {
		r.failf("an operation was sent by %d parties and done %d times", len(parties), done)
	}
	value := r.main().read()
	winner := orderOf(value)
	s := r.at(winner.revision, winner.sequence)
	c := r.main()
	c.duplicate(c.operate(r.at(6, 1), "pay", "twice", nil).err, "pay", s, []byte(value))
}

func operationReopen[T any](r *run[T]) {
	s := r.at(5, 1)
	r.main().operate(s, "pay", "paid", []byte("receipt"))
	r.reopen()
	c := r.main()
	c.duplicate(c.operate(r.at(5, 2), "pay", "paid twice", nil).err, "pay", s, []byte("receipt"))
	c.holds("paid", "after a repeated operation")
}
