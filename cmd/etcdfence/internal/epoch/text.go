package epoch

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

func (r *Report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "etcd %s is at revision %d; your programs use epoch %d.\n", r.Cluster, r.Revision, r.Epoch)
	if len(r.Marks) > 0 {
		fmt.Fprintln(&b)
		w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "LOCK\tEPOCH\tREVISION\tSTORE\tTHE NEXT HOLDER")
		for _, m := range r.Marks {
			t := m.Mark.Token()
			fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", t.Lock(), t.Epoch(), t.Revision(), m.Store, m.Verdict.words())
		}
		_ = w.Flush() // into memory
	}
	fmt.Fprintln(&b)
	b.WriteString(r.advice())
	return b.String()
}

func (v Verdict) words() string {
	switch v {
	case Ahead:
		return "is refused: the mark is ahead of etcd"
	case NewerEpoch:
		return "is refused: the mark has a newer epoch"
	default:
		return "is accepted"
	}
}

func (r *Report) advice() string {
	ahead, epochs := 0, 0
	for _, m := range r.Marks {
		switch m.Verdict {
		case Ahead:
			ahead++
		case NewerEpoch:
			epochs++
		}
	}
	switch {
	case len(r.Marks) == 0:
		return "No marks were looked at: name the stores with --marks.\n"
	case ahead > 0:
		return fmt.Sprintf(`etcd has been rolled back: %d of %d marks are ahead of it. Nothing is overwritten, and
nothing can be written either. To go on:

  1. Stop all programs that use these locks, or let them fail.
  2. Raise the epoch to %d in all of them: Options.Epoch, etcdfence run --epoch %[3]d.
  3. Start them. Tokens of the new epoch are newer than all that came before, and a
     program that is left on the old epoch is refused from the first claim on.
  4. Look at this again, with --epoch %[3]d.
`, ahead, len(r.Marks), r.Raise)
	case epochs > 0:
		return fmt.Sprintf(`%d of %d marks have a newer epoch than %d: some program was started with it. Raise the epoch
to %d in all programs. If nobody meant to raise it, find out who did: an epoch cannot be
lowered again.
`, epochs, len(r.Marks), r.Epoch, r.Raise)
	}
	return `Nothing is wrong. A rollback that etcd's revision has made up for since cannot be seen here.
`
}
