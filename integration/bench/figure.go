package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

var only string // which figures; a flag

// wanted reports whether one of the figures was asked for.
func wanted(figures ...string) bool {
	return slices.ContainsFunc(figures, func(f string) bool { return strings.Contains(f, only) })
}

type goal struct {
	op    string // <, <= or >=
	limit float64
}

func (g goal) met(value float64) bool {
	switch g.op {
	case "<":
		return value < g.limit
	case "<=":
		return value <= g.limit
	default:
		return value >= g.limit
	}
}

// figure prints the line of a figure: the median of its rounds, and the range.
func figure(name string, rounds []float64, g goal) {
	if !wanted(name) {
		return
	}
	value, verdict := median(rounds), "short"
	if g.met(value) {
		verdict = "ok"
	}
	// One digit more than the goal has, or a value next to it would seem to meet it.
	fmt.Printf("ratio %s %.3f goal %s %.2f %s\n", name, value, g.op, g.limit, verdict)
	if len(rounds) > 1 {
		fmt.Printf("# %s: %s to %s in %d rounds\n", name, number(slices.Min(rounds)), number(slices.Max(rounds)), len(rounds))
	}
}

// note prints a line that says more.
func note(format string, args ...any) { fmt.Printf("# "+format+"\n", args...) }

func number(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func short(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

func median[T float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// ratios divides round by round.
func ratios(over, under []time.Duration) []float64 {
	out := make([]float64, len(over))
	for i := range over {
		out[i] = float64(over[i]) / float64(under[i])
	}
	return out
}

// alternate measures operations in turns. In each round each of them runs the given
// number of times, one after the other, and every time another one goes first. It
// returns the median of each round for each operation.
func (h *host) alternate(rounds, times int, ops ...func() error) [][]time.Duration {
	medians := make([][]time.Duration, len(ops))
	h.round(20, ops) // connections, caches, leases
	for range rounds {
		for i, took := range h.round(times, ops) {
			medians[i] = append(medians[i], median(took))
		}
	}
	return medians
}

func (h *host) round(times int, ops []func() error) [][]time.Duration {
	took := make([][]time.Duration, len(ops))
	for i := range times {
		for j := range ops {
			k := (i + j) % len(ops)
			start := time.Now()
			err := ops[k]()
			took[k] = append(took[k], time.Since(start))
			h.must(err)
		}
	}
	return took
}
