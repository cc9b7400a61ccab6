"""What must happen in Redis in one go, as scripts.

The keys of a stream are ``<prefix>:{<id>}:<part>``; the braces keep them in one slot of a cluster.

- ``log``: a stream of records ``<epoch>-<seq>`` with the fields ``e`` (the event as JSON) and ``t`` (seconds). Redis
  refuses an id that is not above the newest one: that alone keeps retries from doubling and zombies from writing.
- ``meta``: a hash with owner, schema, created, state (live, ended), last (the newest seq), epoch and token (of the
  producer), first (the epoch of the first producer).
- ``lease``: the producer's token; it runs out by the clock of the broker.
- ``ctl``: a stream of requests to the producer.
- ``snap``: the answer as far as its records were let go, with the number of the last of them.
"""

from streamflow.flow.redis_link import Script

# Numbers of scripts are doubles, and what they print of large ones is not what Redis reads.
_PRELUDE = "local function whole(n) return string.format('%.0f', n) end\n"

CLAIM = Script(
    _PRELUDE
    + """
local meta, lease = KEYS[1], KEYS[2]
local token, lease_ms, keep_ms, owner, schema, takeover = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local m = redis.call('HMGET', meta, 'epoch', 'first', 'last', 'state', 'token', 'owner', 'schema')
if not m[1] then
  if takeover == '2' then return {'none', '0', '0', '-1', '', '1'} end
  local now = redis.call('TIME')
  -- Even and of the broker's clock: behind every epoch that this id had before it expired.
  local epoch = whole((tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)) * 2)
  redis.call('HSET', meta, 'owner', owner, 'schema', schema, 'created', now[1], 'state', 'live', 'last', '-1',
    'epoch', epoch, 'first', epoch, 'token', token)
  redis.call('SET', lease, token, 'PX', lease_ms)
  redis.call('PEXPIRE', meta, keep_ms)
  return {'won', epoch, epoch, '-1', owner, '0'}
end
local ended = m[4] == 'ended' and '1' or '0'
if m[7] ~= schema then return {'schema', m[7], m[2], m[3], m[6], ended} end
if m[4] == 'live' and m[5] == token then  -- our own claim, whose answer got lost
  redis.call('SET', lease, token, 'PX', lease_ms)
  return {'won', m[1], m[2], m[3], m[6], '0'}
end
if m[4] ~= 'live' or takeover == '0' or redis.call('EXISTS', lease) == 1 then
  return {'taken', m[1], m[2], m[3], m[6], ended}
end
local epoch = whole(tonumber(m[1]) + 2)
redis.call('SET', lease, token, 'PX', lease_ms)
redis.call('HSET', meta, 'epoch', epoch, 'token', token)
return {'won', epoch, m[2], m[3], m[6], '0'}
"""
)

APPEND = Script(
    _PRELUDE
    + """
local log, meta, lease, ctl, snap = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local epoch, token, lease_ms, keep_ms, terminal = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local from = tonumber(ARGV[6])
local m = redis.call('HMGET', meta, 'epoch', 'last', 'state')
if not m[1] then return {'gone', '-1'} end
if m[1] ~= epoch then return {'fenced', m[2]} end
local last = tonumber(m[2])
local newest = from + (#ARGV - 6) / 2 - 1
if m[3] == 'ended' then
  return {newest <= last and 'ok' or 'fenced', m[2]}
end
if from > last + 1 or newest <= last then return {'ok', m[2]} end
for seq = last + 1, newest do
  local place = 7 + 2 * (seq - from)
  redis.call('XADD', log, epoch .. '-' .. whole(seq), 'e', ARGV[place], 't', ARGV[place + 1])
end
redis.call('HSET', meta, 'last', whole(newest))
if terminal == '1' then
  redis.call('HSET', meta, 'state', 'ended')
  redis.call('DEL', lease)
  for _, key in ipairs({log, meta, ctl, snap}) do redis.call('PEXPIRE', key, keep_ms) end
else
  redis.call('SET', lease, token, 'PX', lease_ms)
  if last < 0 then redis.call('PEXPIRE', log, keep_ms) end
end
return {'ok', whole(newest)}
"""
)

RENEW = Script(
    """
local log, meta, lease, ctl, snap = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local epoch, token, lease_ms, keep_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local m = redis.call('HMGET', meta, 'epoch', 'state')
if not m[1] then return 'gone' end
if m[1] ~= epoch then return 'fenced' end
if m[2] == 'ended' then return 'ended' end
for _, key in ipairs({log, meta, ctl, snap}) do redis.call('PEXPIRE', key, keep_ms) end
-- A broker that is full still lets a lease be prolonged, only not be set.
if redis.call('GET', lease) == token then
  redis.call('PEXPIRE', lease, lease_ms)
else
  redis.call('SET', lease, token, 'PX', lease_ms)
end
return 'ok'
"""
)

RELEASE = Script(
    """
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] and redis.call('GET', KEYS[2]) == ARGV[2] then
  redis.call('DEL', KEYS[2])
end
return 'ok'
"""
)

LET_GO = Script(
    _PRELUDE
    + """
local log, meta, snap = KEYS[1], KEYS[2], KEYS[3]
local epoch, through, snapshot, keep_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local m = redis.call('HMGET', meta, 'epoch', 'last', 'state')
if not m[1] then return 'gone' end
if m[1] ~= epoch or m[3] == 'ended' then return 'fenced' end
redis.call('SET', snap, snapshot, 'PX', keep_ms)
redis.call('XTRIM', log, 'MINID', '=', epoch .. '-' .. whole(tonumber(through) + 1))
if tonumber(m[2]) < tonumber(through) then redis.call('HSET', meta, 'last', through) end
return 'ok'
"""
)

# XREAD and XRANGE jump over records that were trimmed without a word: the numbers tell.
FETCH = Script(
    """
local log, meta, snap = KEYS[1], KEYS[2], KEYS[3]
local after, start, count = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local m = redis.call('HMGET', meta, 'first', 'last', 'state', 'schema')
if not m[1] then return {false} end
local records = redis.call('XRANGE', log, start == '' and m[1] .. '-' .. string.format('%.0f', after + 1) or start, '+',
  'COUNT', count)
local first = records[1] and tonumber(string.match(records[1][1], '-(%d+)$'))
local past = false
if (first and first > after + 1) or (not first and tonumber(m[2]) > after) then past = redis.call('GET', snap) end
return {m[4], m[2], m[3], records, past}
"""
)
