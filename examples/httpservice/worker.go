package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence/httpfence"
)

// worker changes the account of a service, which it knows by its address only.
type worker struct {
	name  string
	locks *etcdfence.Adapter
	http  *http.Client
	url   string
	think func() // between reading and writing: where a process may stall
}

// snippet: worker

// deposit reads the account, adds to it, and writes it back.
func (w *worker) deposit(ctx context.Context, amount int) error {
	accounts, err := httpfence.NewRemote(w.http, w.url+"/fence", nil)
	if err != nil {
		return err
	}
	return etcdfence.Do(ctx, w.locks, "accounts", accounts, // claims before anything is read
		func(ctx context.Context, b *etcdfence.Bound[*httpfence.Call]) error {
			a, err := w.read(ctx)
			if err != nil {
				return err
			}
			w.think()
			body, err := json.Marshal(account{Balance: a.Balance + amount, By: w.name})
			if err != nil {
				return err
			}
			// Not ctx, which ends with the hold: this worker is one that does not notice.
			return b.Apply(context.WithoutCancel(ctx), func(ctx context.Context, call *httpfence.Call) error {
				call.Request, err = http.NewRequestWithContext(ctx, http.MethodPut, w.url+"/account", bytes.NewReader(body))
				return err
			})
		})
}

// end snippet

func (w *worker) read(ctx context.Context) (a account, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/account", http.NoBody)
	if err != nil {
		return a, err
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return a, fmt.Errorf("reading the account: %s", resp.Status)
	}
	return a, json.NewDecoder(resp.Body).Decode(&a)
}
