package fencetest

import "github.com/etcdfence/etcdfence/fence"

// R6: a lost reply is told as such, and the same stamp may be sent again.
func replyCases[T any]() []testCase[T] {
	can := []power[T]{loser[T]()}
	return []testCase[T]{
		{rule: "R6", name: "the-same-stamp-again-does-nothing", run: again[T]},
		{rule: "R6", name: "lost-reply-of-a-write", needs: can, run: lostWrite[T]},
		{rule: "R6", name: "lost-reply-of-a-claim", needs: can, run: lostClaim[T]},
	}
}

// Whoever has lost a reply sends the same stamp again. It must be refused if the first
// one was accepted, however often it comes.
func again[T any](r *run[T]) {
	c := r.main()
	for _, s := range []fence.Stamp{r.at(5, 1), r.at(5, 2), r.at(6, 1)} {
		c.accept(s, valueOf(s))
		for range 2 {
			c.refuse(s, "this very stamp was accepted before")
		}
	}
}

// losing makes a call that is done and whose reply is lost. The resource may find out by
// itself that it was done; if it does not, it must say that it does not know.
func (c caller[T]) losing(what string, send func(caller[T]) outcome, done func() bool) {
	c.once = true
	for attempt := 0; ; attempt++ {
		if err := c.subject.(Loser).Lose(c.ctx); err != nil {
			c.failf("Lose: %v", err)
		}
		o, was := send(c), done()
		switch {
		case was && (o.err == nil || o.maybe):
			return
		case was:
			c.failf("the reply of %s that was done was lost; got %q, want %q", what, o.err, fence.ErrUnknownOutcome)
		case o.err == nil:
			c.failf("%s was reported as done, and was not", what)
		case !fence.SafeToRetry(o.err) || !pause(c.ctx, attempt): // else something else than our loss came first
			c.failf("%s must be accepted: %v", what, o.err)
		}
	}
}

func lostWrite[T any](r *run[T]) {
	c := r.main()
	first, second := r.at(5, 1), r.at(5, 2)
	c.accept(first, "first")
	c.losing("a write", func(c caller[T]) outcome { return c.apply(second, "second") },
		func() bool { return c.read() == "second" })
	c.refuse(second, "it was done, and only its reply was lost")
	c.accept(r.at(5, 3), "third")
}

func lostClaim[T any](r *run[T]) {
	c := r.main()
	c.accept(r.at(5, 1), "first")
	c.losing("a claim", func(c caller[T]) outcome { return c.claim(r.at(6, 0).Token()) },
		func() bool { return c.mark() == r.at(6, 0) })
	c.refuse(r.at(5, 2), "a newer token has claimed, and only the reply was lost")
	c.take(r.at(6, 0).Token())
	c.accept(r.at(6, 1), "second")
}
