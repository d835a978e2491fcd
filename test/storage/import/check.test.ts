/**
 * Which lines an import accepts, and the messages for those it refuses. No store is opened.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkLine } from '../../../storage/import/check.ts';
import { bot, pack, server, session, team, user, vote } from './store.ts';

const test = suite('import lines');

const findFault = (record: unknown): string => checkLine(JSON.stringify(record)).fault;

const inTenYears = new Date(Date.now() + 3_650 * 86_400_000).toISOString();

const wrong: [string, unknown, RegExp][] = [
  ['an unknown kind', { kind: 'robot' }, /"kind" must be one of user, team/],
  ['no kind', {}, /"kind" must be one of/],
  ['a list', [], /not a JSON object/],
  ['a missing field', bot(5, { bot_id: undefined }), /^bot_id is missing$/],
  ['a mistyped field', bot(5, { prefx: '!' }), /prefx is not a field of this record/],
  ['a text above its bound', bot(5, { short: 'x'.repeat(1_025) }), /^short must have 0 to 1024 characters$/],
  ['a long text above its bound', bot(5, { long: 'x'.repeat(65_537) }), /^long must have 0 to 65536/],
  ['a prefix above its bound', bot(5, { prefix: '!'.repeat(129) }), /^prefix must have at most 128/],
  ['too many tags', bot(5, { tags: Array.from({ length: 26 }, String) }), /^tags /],
  ['a control character in a prefix', bot(5, { prefix: '!\u0007' }), /^prefix .* control character/],
  ['no owner at all', bot(5, { owner: undefined }), /exactly one of owner and team_owner/],
  ['two owners', bot(5, { team_owner: 'team-1' }), /exactly one of owner and team_owner/],
  ['a negative total', bot(5, { clicks: -1 }), /^clicks must be >= 0$/],
  ['a total beyond 2^53', bot(5, { clicks: 2 ** 53 }), /^clicks must be <= 9007199254740991$/],
  ['more visitors than clicks', bot(5, { clicks: 1, unique_clicks: 2 }), /unique_clicks is greater/],
  [
    'a stat above the limit',
    bot(5, { servers: '18446744073709552001' }),
    /^servers must be an integer from 0/,
  ],
  ['a fractional stat', bot(5, { servers: 1.5 }), /^servers must be an integer from 0/],
  [
    'a stat with a leading zero, which is no JSON number in the answer',
    bot(5, { shard_list: ['007'] }),
    /^shard_list\/0 must be an integer from 0/,
  ],
  ...[
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'data:text/html,x',
    'ftp://a.example',
    'java\nscript:x',
  ].map((invite): [string, unknown, RegExp] => [
    `the address ${invite}`,
    bot(5, { invite }),
    /^invite must be an address/,
  ]),
  ['a local time', bot(5, { created_at: '2026-01-01T00:00:00+01:00' }), /^created_at must be a UTC time/],
  [
    'a day that does not exist',
    bot(5, { created_at: '2026-02-30T00:00:00.000Z' }),
    /^created_at must be a UTC time/,
  ],
  [
    'a bot listed ten years ahead of the clock',
    bot(5, { created_at: inTenYears }),
    /^created_at must be a UTC time.*, at most a day ahead of this machine's clock$/,
  ],
  [
    'a post ten years ahead of the clock',
    bot(5, { last_stats_post: inTenYears }),
    /^last_stats_post must .*at most a day ahead/,
  ],
  ['a vanity of two lines', bot(5, { vanity: 'a\nb' }), /^vanity must have at most 128/],
  ['an unknown type', bot(5, { type: 'listed' }), /^type must be one of pending, approved/],
  [
    'a fault deep inside',
    bot(5, { extra_links: [{ name: 'x', value: 'javascript:y' }] }),
    /^extra_links\/0\/value must be/,
  ],
  ['a NUL character', bot(5, { staff_note: 'a\u0000b' }), /NUL character/],
  ['half a surrogate pair', user(1, { username: 'a\ud800' }), /half of a surrogate pair/],
  ['a team without members', team('t', 1, { members: [] }), /^members /],
  [
    'a team without owner',
    team('t', 1, { members: [{ user_id: '1', perms: [] }] }),
    /must include a user with the permission owner/,
  ],
  ['an unknown permission', team('t', 1, { members: [{ user_id: '1', perms: ['boss'] }] }), /permission id/],
  ['a name written backwards', team('team-1', 1, { name: 'Mod\u202eevil' }), /^name .* direction of text$/],
  ['an isolated direction in a tag', bot(5, { tags: ['fun\u2067'] }), /^tags.* direction of text/],
  ['a line break in a name', server(5, { name: 'Quiet\nWorkshop' }), /^name .* control character/],
  ['a server without team', server(5, { team_owner: undefined }), /^team_owner is missing$/],
  ['a pack url in capitals', pack('Starter'), /^url must be 3 to 20/],
  ['a vote without time', vote(1, 2, { created_at: undefined }), /^created_at is missing$/],
  ['a reason for a vote that counts', vote(1, 2, { void_reason: 'x' }), /only a void vote may have/],
  ['a former vote that counts', vote(1, 2, { former: true }), /must be void/],
  [
    'a certification that does not ask for the bot',
    { kind: 'position', id: 'certification', name: 'A', questions: [{ id: 'a', question: 'A?' }] },
    /must have a short question with the id bot_id/,
  ],
  ['a token instead of its hash', session({ token_hash: 'rc_user_1_x' }), /SHA-256/],
];
for (const [name, record, message] of wrong) {
  test(`${name} is refused with a message`, () => {
    assert.match(findFault(record), message);
  });
}

test('what is planned may lie ahead of the clock', () => {
  const premium = { start_premium_period: inTenYears, premium_period_length: 24 };

  assert.equal([findFault(bot(5, premium)), findFault(session({ expiry: inTenYears }))], ['', '']);
});

test('the message has at most three faults, and the number of the others', () => {
  const fault = findFault(bot(5, { bot_id: '1', prefix: 1, invite: 'data:x', short: 2, tags: 1 }));

  assert.is(fault.split('; ').length, 4);
  assert.match(fault, /; and 2 more$/);
});

test('null is absent where a field may be absent, and itself where that means something', () => {
  const absent = { invite: null, vanity: null, tags: null, upvotes: null, status: null, created_at: null };
  const bots = { ...absent, listed_since: null, user: { username: 'Owls', avatar: null } };
  const { record } = checkLine(JSON.stringify(bot(5, bots)));

  const { listed_since, user: account, ...rest } = record as unknown as Record<string, unknown>;
  assert.equal([listed_since, account], [null, { username: 'Owls' }]);
  assert.equal(
    Object.keys(absent).filter((name) => name in rest),
    [],
  );
  assert.match(findFault(bot(5, { owner: null })), /exactly one of owner/);
  assert.match(findFault(user(1, { username: null })), /^username must be string/);
});

test('the smallest record of each kind is accepted', () => {
  const records = [user(1), team('team-1', 1), server(5), bot(5), pack('one'), vote(5, 2), session()];

  assert.equal(records.map(findFault), ['', '', '', '', '', '', '']);
});

test('names with emoji, marks and text from right to left are accepted', () => {
  const names = ['👩‍👩‍👧 family', 'שלום', '\u200fمرحبا', 'e\u0301cole'];

  assert.equal(
    names.map((name) => findFault(team('team-1', 1, { name }))),
    ['', '', '', ''],
  );
});

test('integers up to 2^64 keep their digits', () => {
  const line = JSON.stringify(bot(5)).replace(
    '{',
    '{"servers":18446744073709551557,"shard_list":[9007199254740993,1],',
  );

  const { record } = checkLine(line);

  assert.equal(record && 'servers' in record && record.servers, '18446744073709551557');
  assert.equal(record && 'shard_list' in record && record.shard_list, ['9007199254740993', 1]);
});

test('an escaped backslash before u0000 is text, not a NUL', () => {
  assert.is(findFault(user(1, { username: 'a\\u0000b' })), '');
});

test('any text is either a record or a fault', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), (text) => {
      const { record, fault } = checkLine(text);
      return record === null ? fault !== '' : fault === '';
    }),
    { numRuns: 500 },
  );
});

test.run();
