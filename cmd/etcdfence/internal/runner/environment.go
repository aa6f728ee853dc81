package runner

import (
	"os"
	"strconv"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence/httpfence"
)

// What the command finds in its environment.
const (
	EnvToken    = "ETCDFENCE_TOKEN"    // the token's text form, for fence.Token.UnmarshalText
	EnvHeader   = "ETCDFENCE_HEADER"   // a stamp with the sequence 1, as the value of the header Fence-Stamp
	EnvLock     = "ETCDFENCE_LOCK"     // the lock's name, as it was given
	EnvEpoch    = "ETCDFENCE_EPOCH"    // decimal
	EnvRevision = "ETCDFENCE_REVISION" // decimal, up to 2^63-1
	EnvOwner    = "ETCDFENCE_OWNER"    // lease id and label
)

func environment(hold *etcdfence.Hold) []string {
	token, stamp := hold.Token(), hold.Stamp()
	text, err1 := token.MarshalText()
	header, err2 := httpfence.Value(stamp)
	if err1 != nil || err2 != nil { // only a zero token has no text
		panic("a hold without a token")
	}
	return append(os.Environ(),
		EnvToken+"="+string(text),
		EnvHeader+"="+header,
		EnvLock+"="+token.Lock(),
		EnvEpoch+"="+strconv.FormatInt(token.Epoch(), 10),
		EnvRevision+"="+strconv.FormatInt(token.Revision(), 10),
		EnvOwner+"="+token.Owner())
}
