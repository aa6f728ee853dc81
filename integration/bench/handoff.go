package main

import (
	"fmt"
	"sync"
	"time"
)

// A fleet is a number of contenders for one lock.
type fleet []func() error

// handoff measures how fast a lock goes round among clients with connections of their
// own, who all want it all the time. The two fleets take turns, each with its own lock.
func handoff(n int) func(h *host) {
	return func(h *host) {
		server := h.etcd("nofsync")
		var ours, raw fleet
		for range n {
			ours = append(ours, h.cycle(h.adapter(server.NewClient(h)), "ours"))
			raw = append(raw, h.rawCycle(server.NewClient(h), "raw"))
		}
		h.compare(fmt.Sprintf("handoff_%d_clients_vs_raw_mutex", n), ours, raw,
			goal{">=", map[int]float64{2: 10, 8: 4, 64: 1}[n]})
	}
}

// handoffLocal measures the same inside one process: goroutines of one adapter against
// a session for each goroutine, which is what a raw mutex needs. One client each.
func handoffLocal(h *host) {
	const n = 64
	server := h.etcd("nofsync")
	a := h.adapter(server.NewClient(h))
	client := server.NewClient(h)
	var ours, raw fleet
	for range n {
		ours = append(ours, h.cycle(a, "ours"))
		raw = append(raw, h.rawCycle(client, "raw"))
	}
	h.compare("handoff_64_goroutines_vs_raw_sessions", ours, raw, goal{">=", 2.5})
}

// compare prints how many times as fast our fleet is.
func (h *host) compare(name string, ours, raw fleet, g goal) {
	h.pace(ours, 2)
	h.pace(raw, 2)
	const rounds = 7
	var own, theirs []time.Duration
	// Each turn takes about a second.
	turns, rawTurns := max(10, 1000/len(ours)), max(8, 60/len(raw))
	for i := range rounds {
		if i%2 == 0 {
			own = append(own, h.pace(ours, turns))
		}
		theirs = append(theirs, h.pace(raw, rawTurns))
		if i%2 == 1 {
			own = append(own, h.pace(ours, turns))
		}
	}
	figure(name, ratios(theirs, own), g)
	note("%s: adapters %v, raw mutexes %v for each acquisition and release", name, short(median(own)), short(median(theirs)))
}

// pace lets each contender have the lock the given number of times and returns how long
// one acquisition took. The queue is in order of arrival, so all end at about the same
// time.
func (h *host) pace(f fleet, times int) time.Duration {
	var wg sync.WaitGroup
	start := time.Now()
	for _, cycle := range f {
		wg.Go(func() {
			for range times {
				if err := cycle(); err != nil {
					h.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if h.Failed() {
		h.FailNow()
	}
	return took / time.Duration(times*len(f))
}
