-- The atomic step: the stamp is compared with the mark, the change is made, and the mark is
-- set. Redis runs a script alone, from its first line to its last.
--
-- But it does not roll back: what a script has written stays when a later command fails. So
-- everything that can be refused is looked at first, in this order, and only then written.
--
--   KEYS  1 the mark, a string   2.. the change's   and if there is an operation, at the end:
--         the operations, a hash   their order, a list
--   ARGV  1 what is to be done       2 a word for this call, the same in each repeat by the client
--         3 lock  4 owner  5 epoch  6 revision  7 sequence                      the stamp
--         8 rebases  9 epoch  10 revision  11 sequence      the newest mark that the caller knows of
--         apply, any   12 operation  13 what to keep of it  14 of how many
--                      15 how many needs, five values each, and then the change
--         rebase       12 lock  13 owner  14 epoch  15 revision  16 sequence    from; "" for no mark
--
-- Numbers are decimal strings all the way. As Lua's numbers they would end at 2^53.

local mark_key, operations_key, order_key = KEYS[1], KEYS[#KEYS - 1], KEYS[#KEYS]
local what, call, lock, owner = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local epoch, revision, sequence = ARGV[5], ARGV[6], ARGV[7]

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
--   EPOCH REVISION SEQUENCE REBASES
--   OWNER
--   LOCK
--   CALL      the word of the call that wrote it
--   TORN      nothing, or how the change of this stamp was left half-done
--
-- What cannot be read is never taken for no mark.
local text = redis.pcall('GET', mark_key)
if type(text) == 'table' then
	return text.err:find('^WRONGTYPE') and {'foreign'} or text
end
local marked = text ~= false
local mark = {epoch = '0', revision = '0', sequence = '0', rebases = '0', owner = '', lock = '', call = '', torn = ''}
if marked then
	mark.epoch, mark.revision, mark.sequence, mark.rebases, mark.owner, mark.lock, mark.call, mark.torn =
		text:match('^etcdfence 1\n(%d+) (%d+) (%d+) (%d+)\n([^\n]+)\n([^\n]+)\n([^\n]*)\n([^\n]*)$')
	if not (mark.epoch and number(mark.epoch) and number(mark.revision) and number(mark.sequence) and
			number(mark.rebases)) or mark.revision == '0' then
		return {'foreign'}
	end
end

local function answer(word, more)
	return {word, mark.lock, mark.owner, mark.epoch, mark.revision, mark.sequence, mark.rebases, more}
end

-- set_mark returns the error if Redis refuses. What is torn is noted, so that nobody who
-- repeats the stamp takes it for done. SET also takes away the end that somebody may have
-- given to the key.
local function set_mark(torn)
	local reply = redis.pcall('SET', mark_key, 'etcdfence 1\n' .. mark.epoch .. ' ' .. mark.revision .. ' ' .. mark.sequence ..
		' ' .. mark.rebases .. '\n' .. mark.owner .. '\n' .. mark.lock .. '\n' .. call .. '\n' .. (torn or ''))
	return reply.err and reply
end

if what == 'mark' then
	return answer('ok')
elseif mark.call == call and mark.torn == '' then
	return answer('ok') -- this very call has been here: the client had lost the answer
end

if what == 'rebase' then
	if mark.lock ~= '' and mark.lock ~= lock then
		return answer('refused')
	elseif mark.lock ~= ARGV[12] or mark.owner ~= ARGV[13] or (marked and
			(mark.epoch ~= ARGV[14] or mark.revision ~= ARGV[15] or mark.sequence ~= ARGV[16])) then
		return answer('moved')
	end
	mark.lock, mark.owner, mark.epoch, mark.revision, mark.sequence = lock, owner, epoch, revision, sequence
	mark.rebases = string.format('%.0f', tonumber(mark.rebases) + 1)
	return set_mark() or answer('ok')
end

-- The store is behind what the caller has seen: marks were lost, and with them perhaps what
-- this hold has read. A generation that is newer than that has read nothing yet.
local function behind(rebases, seen_epoch, seen_revision, seen_sequence)
	local c = compare(mark.rebases, rebases)
	if c == 0 and older(mark.epoch, mark.revision, seen_epoch, seen_revision) then
		c = -1
	elseif c == 0 and mark.epoch == seen_epoch and mark.revision == seen_revision then
		c = compare(mark.sequence, seen_sequence)
	end
	return c < 0 and not older(seen_epoch, seen_revision, epoch, revision)
end
if behind(ARGV[8], ARGV[9], ARGV[10], ARGV[11]) then
	return answer('back')
end

-- The rule.
local newer = older(mark.epoch, mark.revision, epoch, revision)
local same = mark.epoch == epoch and mark.revision == revision and mark.owner == owner
if marked and mark.lock ~= lock then
	return answer('refused')
elseif same and what == 'claim' then
	return answer('ok') -- claimed before, or written already
elseif same and mark.sequence == sequence and mark.torn ~= '' then
	return answer('torn', mark.torn) -- it was this one
elseif not newer and not (same and (what == 'any' or compare(mark.sequence, sequence) < 0)) then
	return answer('refused')
end

local first, many = 15, 0 -- the change's place in ARGV, operations that are recorded
if what ~= 'claim' then
	if ARGV[12] ~= '' then
		local hash, list = redis.call('TYPE', operations_key).ok, redis.call('TYPE', order_key).ok
		if (hash ~= 'none' and hash ~= 'hash') or (list ~= 'none' and list ~= 'list') then
			return {'foreign'}
		end
		many = redis.call('LLEN', order_key)
		local before = redis.call('HGET', operations_key, ARGV[12])
		if before then
			return answer('duplicate', before)
		end
	end
	-- What the change needs of what there is: a type, and of a counter its bounds.
	for i = 1, tonumber(ARGV[15]) do
		local key, kind, field, low, high = unpack(ARGV, 5 * i + 11, 5 * i + 15)
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
	first = 16 + 5 * tonumber(ARGV[15])
end

-- Redis 7 can tell beforehand what this user may not do.
local function denied(...)
	if redis.acl_check_cmd and not redis.acl_check_cmd(...) then
		return {err = 'NOPERM this user may not run ' .. (...)}
	end
end
local refused = denied('SET', mark_key, '')
if what ~= 'claim' then
	if ARGV[12] ~= '' then
		refused = refused or denied('HSET', operations_key, ARGV[12], '') or denied('HDEL', operations_key, ARGV[12]) or
			denied('RPUSH', order_key, ARGV[12]) or denied('LPOP', order_key)
	end
	refused = refused or check(first, denied)
end
if refused then
	return refused
end

-- From here on it is written. What fails first, for want of memory or of replicas, fails alone.
local applied, failure = 0, nil
if what ~= 'claim' then
	applied, failure = change(first)
	if failure and applied == 0 then
		return failure
	end
end
if newer or compare(mark.sequence, sequence) < 0 then -- always, but in any order
	mark.lock, mark.owner, mark.epoch, mark.revision, mark.sequence = lock, owner, epoch, revision, sequence
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

if what ~= 'claim' and ARGV[12] ~= '' then
	local function record(...)
		local reply = redis.pcall(...)
		if type(reply) == 'table' and reply.err then
			failure = failure or reply
		end
		return reply
	end
	record('HSET', operations_key, ARGV[12], ARGV[13])
	record('RPUSH', order_key, ARGV[12])
	for _ = 1, many + 1 - tonumber(ARGV[14]) do
		record('HDEL', operations_key, record('LPOP', order_key))
	end
	if failure then
		return torn('all applied, but the operation was not recorded: ' .. failure.err)
	end
end
return answer('ok')
