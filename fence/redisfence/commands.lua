-- The usual change: a list of commands, each with the number of its words before it. check
-- looks at them and change runs them.

local function check(first, denied)
	local i = first
	while i <= #ARGV do
		local words = tonumber(ARGV[i])
		local refused = denied(unpack(ARGV, i + 1, i + words))
		if refused then
			return refused
		end
		i = i + 1 + words
	end
end

-- change returns how many were applied, and the error of the one that was not.
local function change(first)
	local i, applied = first, 0
	while i <= #ARGV do
		local words = tonumber(ARGV[i])
		local reply = redis.pcall(unpack(ARGV, i + 1, i + words))
		if type(reply) == 'table' and reply.err then
			return applied, reply
		end
		i, applied = i + 1 + words, applied + 1
	end
	return applied
end

