/**
 * The rights that the user of REDIS_URL needs, and a look at whether it has them.
 *
 * A start without one of them is refused with the `ACL SETUSER` line that grants it; one that is taken away
 * later is named in a note, while the functions refuse before they write (7-register.lua). Redis itself
 * judges (`redis.acl_check_cmd`), so nothing is tried out. Rights that only messages between nodes need are
 * in the note `pubsub_fails`. docs/operators/needs.md has all rules as one line.
 */
import type { Redis } from 'ioredis';
import { type Note, toNote } from '../../../engine/tools/notes.ts';
import type { Library } from './library.ts';

/** What nodes send, and what their scripts call beside the library (storage/nodes). */
const sent = 'del eval exists fcall function|delete function|list function|load get hgetall incrby ping pttl';
/** Patterns of keys, each with a key that it allows. */
const keys = {
  '~{s*': '{s0}:e',
  '~moved': 'moved',
  '~rollcall:*': 'rollcall:session:0',
  '~{rollcall:*': '{rollcall:nodes}:seen',
};
/** For messages between nodes; for how durable Redis is; for a Cluster; for a numbered database. */
const others =
  '&rollcall:* +publish +subscribe +unsubscribe +client +info +config|get ' +
  '+cluster|slots +cluster|nodes +cluster|info +asking +readonly +select';

/** Commands that Redis finds the keys of in another way: without arguments it would read beyond their end. */
const samples: Readonly<Record<string, string>> = {
  eval: 'eval|script|0',
  fcall: 'fcall|name|0',
  set: 'set|rollcall:session:0|1',
};

const listCommands = ({ commands }: Library): readonly string[] =>
  [...new Set([...sent.split(' '), ...commands])].sort();

/** Lists all rules, also those that a node can do without. */
export const listRules = (library: Library): readonly string[] => [
  ...Object.keys(keys),
  ...others.split(' '),
  ...listCommands(library).map((name) => `+${name}`),
];

/**
 * Arguments: the number of commands, the commands, the keys. Answers with the places of those that are
 * refused; below 0 where the server does not know the command. Commands are judged without a key, to
 * distinguish a missing pattern from a missing command; keys by a command that reads and writes them.
 */
const missingScript = `
local missing, commands = {}, tonumber(ARGV[1])
local mayJudgeKeys = redis.acl_check_cmd('incrby')
for place = 1, #ARGV - 1 do
  local words, known, may = {}, true, true
  for word in string.gmatch(ARGV[place + 1], '[^|]+') do words[#words + 1] = word end
  if place > commands then
    may = not mayJudgeKeys or redis.acl_check_cmd('incrby', words[1], '1')
  else
    known, may = pcall(redis.acl_check_cmd, unpack(words))
  end
  if not (known and may) then missing[#missing + 1] = known and place or -place end
end
return missing`;

/** Describes what is missing; `''` for nothing. Rejects when the server does not answer. */
const describeMissing = async (primary: Redis, library: Library): Promise<string> => {
  const commands = listCommands(library);
  const rules = [...commands.map((name) => `+${name}`), ...Object.keys(keys)];
  const candidates = [...commands.map((name) => samples[name] ?? name), ...Object.values(keys)];
  const evaluation = primary.eval(missingScript, 0, commands.length, ...candidates) as Promise<number[]>;
  const places = await evaluation.catch((error: Error) => {
    // A server that cannot run the script is no Redis 7: loading the library says which it is.
    if (/^ERR (?!unknown command)/.test(error.message)) return [];
    if (!/^(NOPERM|ERR unknown command)/.test(error.message)) throw error;
    const place = commands.indexOf('eval') + 1;
    return [error.message.startsWith('NOPERM') ? place : -place];
  });
  if (!Array.isArray(places)) return '';
  const list = (of: readonly number[]) => of.map((place) => rules[Math.abs(place) - 1]).join(' ');
  const [refused, unknown] = [
    list(places.filter((place) => place > 0)),
    list(places.filter((place) => place < 0)),
  ];
  const name = primary.options.username ?? 'default';
  const grant = `the user ${name} of REDIS_URL lacks rights; give them: ACL SETUSER ${name} ${refused}`;
  const restore = `the server lacks commands (${unknown.replaceAll('+', '')}): end their rename-command`;
  return [refused && grant, unknown && restore].filter(Boolean).join('; ');
};

/** Rejects with a message for the operator when a right is missing. */
export const assertRights = async (primary: Redis, library: Library): Promise<void> => {
  const missing = await describeMissing(primary, library);
  if (missing !== '') throw new Error(missing);
};

const checkEveryMs = 5_000;

/** Looks again and again, one look at a time. A server that does not answer keeps its last description. */
export const createRightsWatch = (listPrimaries: () => readonly Redis[], library: Library) => {
  let checkedMs = performance.now();
  let notes: readonly Note[] = [];
  return {
    listNotes: () => notes,
    check: async (): Promise<void> => {
      if (performance.now() - checkedMs < checkEveryMs) return;
      checkedMs = Number.POSITIVE_INFINITY;
      const looks = listPrimaries().map((primary) => describeMissing(primary, library));
      const missing = await Promise.all(looks).catch(() => null);
      checkedMs = performance.now();
      if (missing === null) return;
      const named = [...new Set(missing)].filter(Boolean);
      notes = named.map((text) => toNote('redis_rights', `what needs it is refused: ${text}`));
    },
  };
};
