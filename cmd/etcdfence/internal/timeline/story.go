// Package timeline is what the demonstration has seen, as data, and the forms it is
// shown in: text for a person, JSON for a program, a picture for a document. It
// starts nothing and asks nobody.
package timeline

import (
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// Story is the whole demonstration.
type Story struct {
	Etcd  Etcd
	Store string // its kind, such as "SQLite"
	Lock  string
	TTL   time.Duration // as granted by etcd
	Acts  []Act         // with a fence, then without
}

// Etcd says which etcd gave out the lock.
type Etcd struct {
	Endpoints []string `json:"endpoints"`
	Embedded  bool     `json:"embedded"`
}

// Act is the story told once, with or without a fence at the store.
type Act struct {
	Fence  bool
	Events []Event // in the order in which they were seen
	Holds  string  // the value that the store has at the end
}

// Event is one thing that happened.
type Event struct {
	At    time.Duration // since the act began
	Who   Who
	Kind  Kind
	Of    Who           // whose lock or lease it is about; empty if Who's own
	Token fence.Token   // zero if there is none yet
	Value string        // what was written
	Check bool          // the store compared the token before it answered
	TTL   time.Duration // of the lease that was granted
	PID   int           // of the process that was stopped or continued
	Err   error         // how the store refused; nil if it accepted
}

// Who is somebody in the story.
type Who string

// The cast.
const (
	A       Who = "A"
	B       Who = "B"
	Cluster Who = "etcd"
	Keeper  Who = "store"
)

// Kind is what somebody did.
type Kind string

// The kinds of events, in the order in which they first come.
const (
	Asked     Kind = "asked"     // a worker asked etcd for the lock
	Granted   Kind = "granted"   // etcd gave the lock to Of
	Claimed   Kind = "claimed"   // a worker raised the store's mark to its token
	Checked   Kind = "checked"   // etcd confirmed to a worker that it holds the lock
	Stopped   Kind = "stopped"   // a worker's process was stopped
	Expired   Kind = "expired"   // the lease of Of has run out
	Wrote     Kind = "wrote"     // a worker presented a write to the store
	Continued Kind = "continued" // the process was continued
)

// Answered reports whether the store answered the event.
func (e Event) Answered() bool { return e.Kind == Claimed || e.Kind == Wrote }
