package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"sync"

	"github.com/etcdfence/etcdfence/fence"
)

// memoryStore is a [fence.Memory] in the director's process, which the workers reach
// through a pair of connected sockets each. The compare and the write are the
// Memory's one critical section; nothing here decides.
type memoryStore struct {
	checked *fence.Memory

	mu    sync.Mutex
	taken string // what the store without a fence has
	lines []net.Conn
	work  sync.WaitGroup
}

// request is one call of a worker; the reply is an *answer.
type request struct {
	Op    string // "claim", "apply" or "plain"
	Token fence.Token
	Stamp fence.Stamp
	Value string
}

const valueKey = "value"

func newMemoryStore(lock string) (*memoryStore, error) {
	m, err := fence.NewMemory(lock)
	return &memoryStore{checked: m}, err
}

func (m *memoryStore) job() storeJob { return storeJob{Kind: kindMemory} }

func (m *memoryStore) line() (*os.File, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.lines = append(m.lines, ours)
	m.mu.Unlock()
	m.work.Go(func() { m.serve(ours) })
	return theirs, nil
}

// serve answers one worker until its connection ends.
func (m *memoryStore) serve(line net.Conn) {
	defer line.Close()
	in, out := json.NewDecoder(line), json.NewEncoder(line)
	for {
		var r request
		if in.Decode(&r) != nil || out.Encode(answerOf(m.answer(context.Background(), r))) != nil {
			return
		}
	}
}

func (m *memoryStore) answer(ctx context.Context, r request) error {
	switch r.Op {
	case "claim":
		return m.checked.Claim(ctx, r.Token)
	case "apply":
		return m.checked.Apply(ctx, r.Stamp, func(_ context.Context, tx *fence.MemoryTx) error {
			tx.Put(valueKey, r.Value)
			return nil
		})
	case "plain":
		m.mu.Lock()
		defer m.mu.Unlock()
		m.taken = r.Value
		return nil
	}
	return errors.New("unknown request " + r.Op)
}

func (m *memoryStore) holds(ctx context.Context, fenced bool) (string, error) {
	if fenced {
		value, _, err := m.checked.Get(ctx, valueKey)
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.taken, nil
}

func (m *memoryStore) close(context.Context) error {
	m.mu.Lock()
	for _, line := range m.lines {
		line.Close() // or its worker has gone first
	}
	m.mu.Unlock()
	m.work.Wait()
	return nil
}
