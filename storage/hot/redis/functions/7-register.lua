-- Function names end in the hash of this library's source (@), so that several versions exist side by side.

-- Why a function that writes may not run: a user that lacks the right to one of our commands, which would leave a
-- call half written. A command that the server does not know raises an error. Costs 0.2 µs for each command.
local function findRefusal(prefix)
  local key = prefix .. '{s0}:e'
  for _, command in ipairs(moves.writing) do
    if not redis.acl_check_cmd(command, key) then
      return redis.error_reply('NOPERM this user may not run ' .. command)
    end
  end
end

moves.writing = { @writing }

local function register(name, callback, flags)
  redis.register_function({
    function_name = name .. '_@',
    callback = function(keys, arguments)
      if not call then
        prepare()
      end
      return not flags[1] and findRefusal(arguments[1]) or callback(keys, arguments)
    end,
    flags = flags,
  })
end

register('rollcall_commit', commit, {})
register('rollcall_load', load, { 'no-writes' })
register('rollcall_heads', heads, { 'no-writes' })
register('rollcall_changes', changeList.read, { 'no-writes' })
register('rollcall_peek', peek, { 'no-writes' })
register('rollcall_parts', parts.read, { 'no-writes' })
register('rollcall_due', parts.listDue, {})
register('rollcall_settled', settled, {})
register('rollcall_publish', publish, {})
register('rollcall_clear', clear, {})
register('rollcall_sweep', sweep, {})
register('rollcall_mend', mend, {})
