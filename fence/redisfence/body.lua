-- The change of a Script: the function "body", whose text stands before this one. It sees
-- KEYS and ARGV of its own, and a "redis" that takes note of what may have been written.

local function check() end -- nothing is known beforehand

local function change(first, own_keys)
	local reads = {}
	for name in ('EXISTS GET GETRANGE HEXISTS HGET HGETALL HKEYS HLEN HMGET HVALS LINDEX LLEN LRANGE ' ..
		'MGET PTTL SCARD SISMEMBER SMEMBERS STRLEN TIME TTL TYPE XLEN XRANGE ZCARD ZCOUNT ZRANGE ' ..
		'ZRANGEBYSCORE ZRANK ZSCORE'):gmatch('%u+') do
		reads[name] = true
	end
	local wrote = 0
	local api = setmetatable({}, {__index = redis})
	function api.pcall(...)
		local reply = redis.pcall(...)
		if not (type(reply) == 'table' and reply.err) and not reads[tostring((...)):upper()] then
			wrote = wrote + 1
		end
		return reply
	end
	function api.call(...)
		local reply = api.pcall(...)
		if type(reply) == 'table' and reply.err then
			error(reply.err, 0)
		end
		return reply
	end
	local keys, args = {}, {}
	for i = 1, own_keys do
		keys[i] = KEYS[i + 1]
	end
	for i = first, #ARGV do
		args[i - first + 1] = ARGV[i]
	end
	local ok, reply = pcall(body, keys, args, api)
	local text = not ok and tostring(reply) or type(reply) == 'table' and reply.err
	if not text then
		return wrote
	end
	if not text:find('^%u+ ') then
		text = 'ERR ' .. text
	end
	return wrote, {err = text}
end

