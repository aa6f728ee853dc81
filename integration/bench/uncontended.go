package main

// uncontended measures a lock that nobody else wants.
func uncontended(mode string) func(h *host) {
	rounds, times := 9, 300
	if mode == "fsync" {
		rounds, times = 7, 80
	}
	return func(h *host) {
		server := h.etcd(mode)
		m := h.alternate(rounds, times,
			h.cycle(h.adapter(server.NewClient(h)), "ours"),
			h.rawCycle(server.NewClient(h), "raw"),
			h.bareCycle(server.NewClient(h), "bare/key"))
		figure("acquire_release_vs_raw_mutex_"+mode, ratios(m[0], m[1]), goal{"<=", 1.10})
		figure("acquire_release_vs_put_delete_"+mode, ratios(m[0], m[2]), goal{"<=", 1.4})
		note("acquire and release, %s: adapter %v, raw mutex %v, put and delete %v", mode,
			short(median(m[0])), short(median(m[1])), short(median(m[2])))
	}
}
