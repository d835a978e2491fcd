-- Function names end in the hash of this library's source (@), so that several versions exist side by side.

local function register(name, callback, flags)
  redis.register_function({
    function_name = name .. '_@',
    callback = function(keys, arguments)
      if not call then
        prepare()
      end
      return callback(keys, arguments)
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
