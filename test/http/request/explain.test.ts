/**
 * The explanation of a rejection: one entry per field, which says what is allowed; and the coercion of
 * queries.
 *
 * Ajv explains what TypeBox rejects; a property checks that the two agree.
 */
import fc from 'fast-check';
import { Type } from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DomainError } from '../../../engine/errors.ts';
import { compatRoutes } from '../../../http/api/compat.ts';
import { patternMessages } from '../../../http/api/shared/patterns.ts';
import { routes } from '../../../http/api/table.ts';
import { adminOperations } from '../../../http/operator/table.ts';
import { compileCheck } from '../../../http/request/check.ts';
import { coerceQuery, explain } from '../../../http/request/explain.ts';
import { explainedFieldsMax } from '../../../http/response/errors.ts';
import type { Site } from '../../../http/site/site.ts';
import { buildSitemapRoutes } from '../../../http/site/sitemap.ts';

const test = suite('explain');

const Body = Type.Object({
  short: Type.String({ minLength: 30, maxLength: 150 }),
  tags: Type.Array(Type.String({ maxLength: 5 }), { minItems: 1, maxItems: 2, uniqueItems: true }),
  count: Type.Optional(Type.Integer({ minimum: 0, maximum: 10 })),
  status: Type.Optional(Type.Enum(['online', 'idle'])),
  id: Type.Optional(Type.String({ format: 'uuid' })),
  note: Type.Optional(Type.Union([Type.String({ maxLength: 3 }), Type.Null()])),
  step: Type.Optional(Type.Union([Type.Integer({ minimum: 9, multipleOf: 5 }), Type.Null()])),
  since: Type.Optional(Type.String({ format: 'date-time' })),
  names: Type.Optional(Type.Union([Type.Array(Type.String({ maxLength: 3 })), Type.Null()])),
});
const good = { short: 'x'.repeat(30), tags: ['a'] };

const besidesBlanks = ', not counting blanks at its ends, blanks in a row and invisible ones';
const wordings: readonly [unknown, Record<string, string>][] = [
  [{ ...good, short: 'x' }, { '/short': 'must have at least 30 characters' }],
  [{ ...good, short: 'x'.repeat(151) }, { '/short': 'must have at most 150 characters' }],
  [{ tags: ['a'] }, { '/short': 'is missing' }],
  [{ ...good, short: 5 }, { '/short': 'must be a string' }],
  [{ ...good, tags: [] }, { '/tags': 'must have at least 1 entry' }],
  [{ ...good, tags: ['a', 'a'] }, { '/tags': 'must not repeat an entry' }],
  [{ ...good, tags: ['a', 'abcdef'] }, { '/tags/1': 'must have at most 5 characters' }],
  [{ ...good, count: -1 }, { '/count': 'must be 0 or more' }],
  [{ ...good, count: 11 }, { '/count': 'must be 10 or less' }],
  [{ ...good, count: 1.5 }, { '/count': 'must be a whole number' }],
  [{ ...good, count: null }, { '/count': 'must be a whole number' }],
  [{ ...good, status: 'away' }, { '/status': 'must be one of "online", "idle"' }],
  [{ ...good, id: 'x' }, { '/id': 'must be a UUID' }],
  [{ ...good, note: 'long' }, { '/note': 'must have at most 3 characters' }],
  [{ ...good, step: 7 }, { '/step': 'must be 9 or more, and must be multiple of 5' }],
  [{ ...good, note: 5 }, { '/note': 'must be a string, or must be null' }],
  [{ ...good, names: ['a', 'long'] }, { '/names/1': 'must have at most 3 characters' }],
  [{ ...good, names: 'a' }, { '/names': 'must be an array, or must be null' }],
  ...[
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-02-30T00:00:00Z',
    '2026-01-01T00:00:00Z[Europe/Berlin]',
    '2016-12-31T23:59:60Z',
  ].map((since): [unknown, Record<string, string>] => [
    { ...good, since },
    { '/since': 'must be an RFC 3339 timestamp of the years 2000 to 2199' },
  ]),
  [{ ...good, id: 'urn:uuid:018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10' }, { '/id': 'must be a UUID' }],
  [[], { '': 'must be an object' }],
  ['x', { '': 'must be an object' }],
  [null, { '': 'must be an object' }],
  [{ ...good, '': 'x', short: 5 }, { '/short': 'must be a string' }],
  [{ ...good, short: ' '.repeat(30) }, { '/short': `must have at least 30 characters${besidesBlanks}` }],
  [
    { ...good, short: `\u200b${'x'.repeat(29)}\n` },
    { '/short': `must have at least 30 characters${besidesBlanks}` },
  ],
  [{ ...good, short: ' '.repeat(1_000) }, { '/short': 'must have at most 150 characters' }],
];
for (const [body, words] of wordings) {
  test(`${JSON.stringify(body).slice(0, 50)} → ${JSON.stringify(words)}`, () => {
    assert.not(compileCheck(Body)(body));
    const error = explain('body', Body, { value: body, bytes: 100 });

    assert.is(error.code, 'validation_failed');
    assert.equal(error.context, words);
  });
}

test('the explanation of a body that is no object names the whole body', () => {
  const error = explain('body', Body, { value: [], bytes: 2 });

  assert.is(error.message, 'The body must be an object.');
});

/** Lists every `pattern` below `value`. */
const patternsIn = (value: unknown): readonly string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'pattern' && typeof member === 'string' ? [member] : patternsIn(member),
  );
};

test('every pattern of a route, and no other, has a message', () => {
  const sitemap = buildSitemapRoutes({ readUrl: () => '' } as Site);
  const all = [...routes, ...compatRoutes, ...sitemap, ...adminOperations.map(({ route }) => route)];
  const used = new Set(patternsIn(all.map(({ params, query, body }) => [params, query, body])));

  assert.equal([...used].sort(), Object.keys(patternMessages).sort());
});

test('several fields are all named, at most 16', () => {
  const Many = Type.Array(Type.Integer());
  const several = explain('body', Body, { value: { short: 'x', tags: [], count: -1 }, bytes: 100 });
  const many = explain('body', Many, { value: new Array(100).fill('x'), bytes: 400 });

  assert.equal(Object.keys(several.context), ['/short', '/tags', '/count']);
  assert.is(Object.keys(many.context).length, explainedFieldsMax);
});

test('only the first fault of a large body is explained', () => {
  const error = explain('body', Body, { value: { short: 'x', tags: [] }, bytes: 100_000 });

  assert.is(Object.keys(error.context).length, 1);
});

const Query = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
  upvote: Type.Optional(Type.Boolean()),
  votes: Type.Optional(Type.Integer({ minimum: 1 })),
});
test('a query is coerced, and gets its defaults', () => {
  const query: Record<string, unknown> = { upvote: 'true', votes: '12' };

  coerceQuery(Query, query);

  assert.equal(query, { upvote: true, votes: 12, page: 1 });
});

for (const [query, code] of [
  [{ page: '0' }, 'page_invalid'],
  [{ page: 'x' }, 'page_invalid'],
  [{ page: '-1' }, 'page_invalid'],
  [{ page: '1.5' }, 'page_invalid'],
  [{ upvote: 'yes' }, 'validation_failed'],
  [{ votes: '1e2' }, 'validation_failed'],
  [{ votes: '0x10' }, 'validation_failed'],
  [{ votes: ' 5' }, 'validation_failed'],
  [{ votes: '' }, 'validation_failed'],
] as const) {
  test(`query ${JSON.stringify(query)} → ${code}`, () => {
    assert.throws(
      () => coerceQuery(Query, { ...query }),
      (error: DomainError) => error.code === code,
    );
  });
}

test('check and explanation agree: what is rejected has an explanation, what is accepted has none', () => {
  const gate = compileCheck(Body);
  const field = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.integer(),
    fc.double(),
    fc.constant(null),
    fc.array(fc.string({ maxLength: 6 }), { maxLength: 3 }),
    fc.constantFrom(
      'online',
      'x'.repeat(30),
      '👍'.repeat(30),
      ' '.repeat(30),
      '\u200b'.repeat(151),
      `x${' '.repeat(29)}`,
      ['a'],
      18446744073709552000,
      '2026-01-01T00:00:00Z',
      '2026-01-01 00:00:00Z',
      '2026-01-01T00:00:00z[UTC]',
    ),
    fc.uuid(),
  );
  const keys = fc.constantFrom('short', 'tags', 'count', 'status', 'id', 'note', 'since', 'names', 'other');
  fc.assert(
    fc.property(fc.dictionary(keys, field), (body) => {
      const explained = Object.keys(explain('body', Body, { value: body, bytes: 100 }).context).length > 0;
      assert.is(gate(body), !explained, JSON.stringify(body));
    }),
    { numRuns: 1_000 },
  );
});

test.run();
