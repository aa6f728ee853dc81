package kit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/etcdfence/etcdfence/fence/fencetest"
)

// TB is what the kit needs of a test: a *testing.T, or something that watches one fail.
type TB = rapid.TB

const (
	rounds  = 8  // each with a fresh subject
	parties = 4  // at once
	asked   = 12 // questions of each party
)

// Linearizable fails the test if there is no order in which a resource that follows
// the rule would have given the answers that several parties got: each must have taken
// effect at one moment between its call and its return. Unlike the races of fencetest
// it looks at every answer: refusals with the mark they name, marks and values read.
func Linearizable[T any](t TB, factory fencetest.Factory[T]) {
	t.Helper()
	seed := rand.Uint64()
	for round := range uint64(rounds) {
		history, err := record(context.Background(), factory, rand.New(rand.NewPCG(seed, round)))
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
		switch porcupine.CheckOperationsTimeout(model, history, patience) {
		case porcupine.Ok:
		case porcupine.Unknown:
			t.Fatalf("seed %d, round %d: no explanation was found in time:\n%s", seed, round, text(history))
		default:
			t.Fatalf("seed %d, round %d: no order explains these answers:\n%s", seed, round, text(history))
		}
	}
}

// model is the rule for porcupine. An unknown outcome is taken for one that happened at
// some time, with no end: at the very end it disturbs nobody, so "never" is included.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, in, out any) (bool, any) {
		want, after := in.(input).step(before.(state))
		return out.(output).agrees(want), after
	},
}

// record lets parties ask a fresh subject at the same time.
func record[T any](ctx context.Context, factory fencetest.Factory[T], random *rand.Rand) (history []porcupine.Operation, err error) {
	s, err := factory(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, s.Close()) }()
	resources, err := handles(ctx, s, parties)
	if err != nil {
		return nil, err
	}
	var clock atomic.Int64 // the order of calls and returns; time would have ties
	var all sync.WaitGroup
	start := make(chan struct{})
	histories := make([][]porcupine.Operation, parties)
	for p, r := range resources {
		questions := questions(s.Lock(), random)
		all.Go(func() {
			<-start
			for _, in := range questions {
				op := porcupine.Operation{ClientId: p, Input: in, Call: clock.Add(1)}
				out := ask(ctx, s, r, in)
				op.Output, op.Return = out, clock.Add(1)
				if out.unknown {
					op.Return = math.MaxInt64
				}
				histories[p] = append(histories[p], op)
			}
		})
	}
	close(start)
	all.Wait()
	return slices.Concat(histories...), nil
}

// questions of one party: its stamps mostly rise, as those of all parties do together.
func questions(lock string, random *rand.Rand) []input {
	var list []input
	for i := range asked {
		in := input{kind: apply, lock: lock, value: fmt.Sprint(random.Uint32())}
		if dice := random.IntN(8); dice < 3 {
			in.kind = []kind{claim, mark, read}[dice]
		}
		owner := []string{"one", "one", "one", "other"}[random.IntN(4)]
		in.stamp = token(lock, 0, int64(1+i/3+random.IntN(3)), owner).At(1 + random.Int64N(4))
		if in.kind == claim {
			in.stamp = in.stamp.Token().At(0)
		}
		list = append(list, in)
	}
	return list
}

// text is a history for people, in the order of the calls.
func text(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, op := range history {
		fmt.Fprintf(&b, "%4d-%-4d party %d  %v: %v\n", op.Call, op.Return, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}
