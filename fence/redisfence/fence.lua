-- The atomic step: the stamp is compared with the mark, the change is made, and the mark is
-- set. Redis runs a script alone, from its first line to its last.
--
-- But it does not roll back: what a script has written stays when a later command fails. So
-- everything that can be refused is looked at first, in this order, and only then written.
--
--   KEYS  1 the mark, a string   2.. the change's   and if there is an operation, at the end:
--         the operations, a hash   their order, a list
--   ARGV  1 what the fence must know, line by line (one long word is cheaper than many):
--             apply, any (order), claim, rebase or mark
--             a word for this call, the same in each repeat of it
--             the stamp's lock, its owner, its epoch, revision and sequence
--             rebases, epoch, revision and sequence of the newest mark that the caller has seen
--             how many operations are kept, 0 if there is none here; how many needs there are
--         rebase: the text of the mark that must be there, as below, from EPOCH to LOCK
--         apply:  operation and what to keep of it, if there is one; five words for each need;
--                 and the change
--
-- Numbers are decimal strings all the way. As Lua's numbers they would end at 2^53.

local mark_key, operations_key, order_key = KEYS[1], KEYS[#KEYS - 1], KEYS[#KEYS]
local what, call, lock, owner, epoch, revision, sequence, seen_rebases, seen_epoch, seen_revision, seen_sequence, kept, needs =
	ARGV[1]:match('^(%l+)\n(%w+)\n([^\n]*)\n([^\n]*)\n(%d+) (%d+) (%d+)\n(%d+) (%d+) (%d+) (%d+)\n(%d+) (%d+)$')
kept, needs = tonumber(kept), tonumber(needs)

-- compare is < 0, 0 or > 0. Nine digits at a time are exact as numbers. (The operator < on
-- strings goes by the server's locale.)
local function compare(a, b)
	if a == b then
		return 0
	elseif #a ~= #b then
		return #a - #b -- there are no leading zeros
	end
	for i = 1, #a, 9 do
		local x, y = tonumber(a:sub(i, i + 8)), tonumber(b:sub(i, i + 8))
		if x ~= y then
			return x - y
		end
	end
	return 0
end

local function number(digits) -- as the fence writes it
	return (digits == '0' or digits:byte() ~= 48) and compare(digits, '9223372036854775807') <= 0
end

-- older tells whether the first of two generations comes before the other.
local function older(epoch_a, revision_a, epoch_b, revision_b)
	local c = compare(epoch_a, epoch_b)
	return c < 0 or (c == 0 and compare(revision_a, revision_b) < 0)
end

-- below compares numbers that may be negative, as INCRBY's are.
local function below(a, b)
	local minus_a, minus_b = a:sub(1, 1) == '-', b:sub(1, 1) == '-'
	if minus_a ~= minus_b then
		return minus_a
	elseif minus_a then
		return compare(b:sub(2), a:sub(2)) < 0
	end
	return compare(a, b) < 0
end

local function integer(s) -- as Redis accepts it for INCRBY
	return s == '0' or s:find('^%-?[1-9]%d*$')
end

-- The mark, line by line:
--
--   etcdfence 1
--   EPOCH REVISION SEQUENCE
--   OWNER
--   LOCK
--   REBASES   how often it was set back
--   CALL      the word of the call that wrote it
--   TORN      nothing, or how the change of this stamp was left half-done
--
-- What cannot be read is never taken for no mark.
local text = redis.pcall('GET', mark_key)
if type(text) == 'table' then
	return text.err:find('^WRONGTYPE') and 'foreign' or text
end
local mark_epoch, mark_revision, mark_sequence, mark_rebases, mark_owner, mark_lock = '0', '0', '0', '0', '', ''
local mark_call, mark_torn = '', ''
local marked = text ~= false
if marked then
	mark_epoch, mark_revision, mark_sequence, mark_owner, mark_lock, mark_rebases, mark_call, mark_torn =
		text:match('^etcdfence 1\n(%d+) (%d+) (%d+)\n([^\n]+)\n([^\n]+)\n(%d+)\n([^\n]*)\n([^\n]*)$')
	if not (mark_epoch and number(mark_epoch) and number(mark_revision) and number(mark_sequence) and
			number(mark_rebases)) or mark_revision == '0' then
		return 'foreign'
	end
end

-- answer is a word, the mark as it is now, and what more there is to say.
local function answer(word, more)
	return word .. '\n' .. (text or '') .. (more and '\n' .. more or '')
end

-- set_mark returns the error if Redis refuses. What is torn is noted, so that nobody who
-- repeats the stamp takes it for done. SET also takes away the end that somebody may have
-- given to the key.
local function set_mark(torn)
	text = 'etcdfence 1\n' .. mark_epoch .. ' ' .. mark_revision .. ' ' .. mark_sequence .. '\n' .. mark_owner .. '\n' ..
		mark_lock .. '\n' .. mark_rebases .. '\n' .. call .. '\n' .. (torn or '')
	local reply = redis.pcall('SET', mark_key, text)
	return reply.err and reply
end

if what == 'mark' then
	return answer('ok')
elseif mark_call == call and mark_torn == '' then
	return answer('ok') -- this very call has been here: the client had lost the answer
end

if what == 'rebase' then
	local from = marked and mark_epoch .. ' ' .. mark_revision .. ' ' .. mark_sequence .. '\n' .. mark_owner .. '\n' .. mark_lock
	if (from or '') ~= ARGV[2] then
		return answer('moved')
	end
	mark_lock, mark_owner, mark_epoch, mark_revision, mark_sequence = lock, owner, epoch, revision, sequence
	mark_rebases = string.format('%.0f', tonumber(mark_rebases) + 1)
	return set_mark() or answer('ok')
end

-- The store is behind what the caller has seen: marks were lost, and with them perhaps what
-- this hold has read. A generation that is newer than that has read nothing yet.
local function behind()
	local c = compare(mark_rebases, seen_rebases)
	if c == 0 and older(mark_epoch, mark_revision, seen_epoch, seen_revision) then
		return true
	elseif c == 0 and mark_epoch == seen_epoch and mark_revision == seen_revision then
		return compare(mark_sequence, seen_sequence) < 0
	end
	return c < 0
end
if behind() and not older(seen_epoch, seen_revision, epoch, revision) then
	return answer('back')
end

-- The rule.
local newer = older(mark_epoch, mark_revision, epoch, revision)
local same = mark_epoch == epoch and mark_revision == revision and mark_owner == owner
if marked and mark_lock ~= lock then
	return answer('refused')
elseif same and what == 'claim' then
	return answer('ok') -- claimed before, or written already
elseif same and mark_sequence == sequence and mark_torn ~= '' then
	return answer('torn', mark_torn) -- it was this one
elseif not newer and not (same and (what == 'any' or compare(mark_sequence, sequence) < 0)) then
	return answer('refused')
end

local first, many, operation = 2, 0, nil -- the place in ARGV, operations that are recorded, and this one
if what ~= 'claim' then
	if kept > 0 then
		local hash, list = redis.call('TYPE', operations_key).ok, redis.call('TYPE', order_key).ok
		if (hash ~= 'none' and hash ~= 'hash') or (list ~= 'none' and list ~= 'list') then
			return 'foreign'
		end
		first, many, operation = 4, redis.call('LLEN', order_key), ARGV[2]
		local before = redis.call('HGET', operations_key, operation)
		if before then
			return answer('duplicate', before)
		end
	end
	-- What the change needs of what there is: a type, and of a counter its bounds.
	for _ = 1, needs do
		local key, kind, field, low, high = unpack(ARGV, first, first + 4)
		first = first + 5
		local found = redis.call('TYPE', key).ok
		if found ~= 'none' and found ~= kind then
			return answer('unfit', key .. ' is a ' .. found .. ', and a ' .. kind .. ' is needed')
		end
		if low ~= '' then
			local count = '0'
			if found == 'hash' then
				count = redis.call('HGET', key, field) or '0'
			elseif found == 'string' then
				count = redis.call('GET', key)
			end
			if not integer(count) then
				return answer('unfit', key .. ' ' .. field .. ' is not an integer')
			elseif below(count, low) or below(high, count) then
				return answer('unfit', key .. ' ' .. field .. ' is ' .. count .. ', and would leave the range of 64 bits')
			end
		end
	end
end

-- Redis 7 can tell beforehand what this user may not do.
local function denied(...)
	if redis.acl_check_cmd and not redis.acl_check_cmd(...) then
		return {err = 'NOPERM this user may not run ' .. (...)}
	end
end
local refused = denied('SET', mark_key, '')
if what ~= 'claim' then
	if operation then
		refused = refused or denied('HSET', operations_key, operation, '') or denied('HDEL', operations_key, operation) or
			denied('RPUSH', order_key, operation) or denied('LPOP', order_key)
	end
	refused = refused or check(first, denied)
end
if refused then
	return refused
end

-- From here on it is written. What fails first, for want of memory or of replicas, fails alone.
local applied, failure = 0, nil
if what ~= 'claim' then
	applied, failure = change(first, #KEYS - (operation and 3 or 1))
	if failure and applied == 0 then
		return failure
	end
end
if newer or compare(mark_sequence, sequence) < 0 then -- always, but in any order
	mark_lock, mark_owner, mark_epoch, mark_revision, mark_sequence = lock, owner, epoch, revision, sequence
end
local function torn(why)
	why = why:gsub('%c', ' ')
	set_mark(why) -- nothing older comes after half a change
	return answer('torn', why)
end
failure = failure or set_mark()
if failure and applied == 0 then
	return failure
elseif failure then
	return torn(applied .. ' applied, and then: ' .. failure.err)
end

if operation then
	local function record(...)
		local reply = redis.pcall(...)
		if type(reply) == 'table' and reply.err then
			failure = failure or reply
		end
		return reply
	end
	record('HSET', operations_key, operation, ARGV[3])
	record('RPUSH', order_key, operation)
	for _ = 1, many + 1 - kept do
		record('HDEL', operations_key, record('LPOP', order_key))
	end
	if failure then
		return torn('all applied, but the operation was not recorded: ' .. failure.err)
	end
end
return answer('ok')
