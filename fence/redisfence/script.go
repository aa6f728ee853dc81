package redisfence

import (
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/hex"
)

//go:embed fence.lua
var fenceLua string

//go:embed commands.lua
var commandsLua string

//go:embed body.lua
var bodyLua string

// usual is the script whose change is a list of commands.
var usual = newScript(commandsLua + fenceLua)

// Script is a change in Lua, for what the commands of a [Tx] cannot do. Make one with
// [NewScript], once; its text goes over the wire once, too.
type Script struct {
	text string
	sha  string
}

// NewScript returns the change that a Lua text makes. It is put into the fence's own
// script, behind the comparison, and sees KEYS, ARGV and redis as any script does: KEYS are
// those given to [Tx.Run] and must all be given.
//
//	var withdraw = redisfence.NewScript(`
//		local rest = tonumber(redis.call('GET', KEYS[1]) or '0') - tonumber(ARGV[1])
//		if rest < 0 then
//			return redis.error_reply('POOR there is not enough')
//		end
//		redis.call('DECRBY', KEYS[1], ARGV[1])
//	`)
//
// A text that fails, or returns an error, before it has written anything leaves everything
// as it was. One that fails later leaves what it has written, and the answer is [ErrTorn]:
// so look first, and write then. What it returns otherwise is dropped. A text with a
// mistake in it is told by Redis with the first use.
func NewScript(text string) *Script {
	return newScript("local function body(KEYS, ARGV, redis) " + text + "\nend\n" + bodyLua + fenceLua)
}

func newScript(text string) *Script {
	sum := sha1.Sum([]byte(text)) // as EVALSHA wants it
	return &Script{text: text, sha: hex.EncodeToString(sum[:])}
}
