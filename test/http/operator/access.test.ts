/**
 * Who may call operations, at which listener, and what the audit record has of them.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { adminOperations } from '../../../http/operator/table.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { askFrom } from '../from-address.ts';
import { answersIn, raw } from '../raw.ts';
import { openOperated, operatorToken, readerToken } from './world.ts';

const test = suite('the door of operations');
const world = await openOperated();
await addUser(world.sql, 'robin');
await addBot(world.sql, 'bot1', { type: 'pending' });
test.after(() => world.close());

const samples: Readonly<Record<string, string>> = {
  '{target_type}': 'bot',
  '{itag}': '018f3b7e-0000-7000-8000-000000000001',
  '{session_id}': '018f3b7e-0000-7000-8000-000000000001',
  '{app_id}': '018f3b7e-0000-7000-8000-000000000001',
};
const sampleOf = (path: string): string =>
  path.replace(/\{\w+\}/g, (name) => samples[name] ?? '815553000470478850');

test('every operation has a command of its own, of two parts', () => {
  const commands = adminOperations.map(({ command }) => command);

  assert.is(new Set(commands).size, commands.length);
  for (const command of commands) assert.match(command, /^[a-z-]+ [a-z-]+$/);
  assert.is(new Set(adminOperations.map(({ route }) => route.name)).size, commands.length);
});

test('every operation → 401 without the operator’s token, and is not recorded', async () => {
  const robin = await world.token('user', 'robin');
  const listEntries = async () => (await world.operate('GET', '/audit')).json.entries;
  const before = await listEntries();
  for (const [index, { route }] of adminOperations.entries()) {
    // Wrong tokens are counted by address.
    const address = `127.0.1.${index + 1}`;
    for (const [token, code] of [
      ['', 'token_missing'],
      [`${operatorToken}x`, 'token_invalid'],
      [operatorToken.slice(0, -1), 'token_invalid'],
      [robin, 'token_invalid'],
    ] as const) {
      const to = { port: world.adminPort, method: route.method, path: sampleOf(route.path) };
      const authorization = token === '' ? '' : `Operator ${token}`;
      const { status, text } = await askFrom(address, { ...to, authorization });
      assert.equal([status, JSON.parse(text).context.code], [401, code], route.name);
    }
  }
  assert.equal(await listEntries(), before);
});

test('no operation answers at the public port, with or without the operator’s token', async () => {
  for (const { route } of adminOperations) {
    const response = await fetch(`http://127.0.0.1:${world.port}${sampleOf(route.path)}`, {
      method: route.method,
      headers: { authorization: `Operator ${operatorToken}` },
      ...(route.method === 'GET' ? {} : { body: '{}' }),
    });
    const text = await response.text();
    // Some paths are also public operations, which do not know the operator's token.
    assertIncludes([400, 401, 404, 405], response.status, `${route.name}: ${response.status} ${text}`);
  }
});

test('the live stream needs a token, a reader’s will do', async () => {
  const open = (authorization: string) =>
    fetch(`http://127.0.0.1:${world.adminPort}/live`, { headers: { authorization } });

  assert.is((await open('')).status, 401);
  assert.is((await open('Operator wrong')).status, 401);
  const answer = await open(`Operator ${readerToken}`);
  assert.is(answer.status, 200);
  assert.is(answer.headers.get('content-type'), 'text/event-stream');
  await answer.body?.cancel();
});

test('two different tokens → 401, whichever is right', async () => {
  const lines = [`Operator ${operatorToken}`, 'Operator other'].map((value) => `Authorization: ${value}\r\n`);
  for (const sent of [lines, lines.toReversed()]) {
    const { text } = await raw(
      world.adminPort,
      `GET /users HTTP/1.1\r\nHost: localhost\r\n${sent.join('')}\r\n`,
    );
    const [answer] = answersIn(text);
    assert.equal([answer?.status, JSON.parse(answer?.body ?? '{}').context.code], [401, 'tokens_disagree']);
  }
});

test('health pages need no token', async () => {
  for (const path of ['/livez', '/readyz', '/metrics']) {
    assert.is((await fetch(`http://127.0.0.1:${world.adminPort}${path}`)).status, 200, path);
  }
});

const newest = async () => (await world.operate('GET', '/audit')).json.entries[0];

test('a change is recorded with its values and its outcome', async () => {
  await world.operate('POST', '/bots/bot1/approve', { note: 'Fine.' });
  const { operation, target, outcome, details, took_ms } = await newest();

  assert.equal([operation, target, outcome], ['bots approve', 'bot1', 'done']);
  assert.equal(details, { note: 'Fine.' });
  assert.type(took_ms, 'number');
});

test('a preview of an operation that has none is refused, and nothing is done', async () => {
  const before = await newest();
  const { status, json } = await world.operate('POST', '/bots/bot1/approve?dry_run=true', { note: 'No.' });

  assert.equal([status, Object.keys(json.context)[0]], [400, '/dry_run']);
  assert.equal(await newest(), before);
});

test('a refused change is recorded with the error code', async () => {
  await world.operate('POST', '/bots/ghost/approve', {});
  const { operation, target, outcome } = await newest();

  assert.equal([operation, target, outcome], ['bots approve', 'ghost', 'not_found']);
});

test('a failed change stays open in the record: its outcome is unknown', async () => {
  await world.sql.unsafe(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'a fault of ours'; end $$;
    create trigger refused before insert on reserved_words for each row execute function refuse()`);
  const { status } = await world.operate('PUT', '/words/owl');
  await world.sql`drop trigger refused on reserved_words`;
  const { operation, outcome, took_ms } = await newest();

  assert.is(status, 500);
  assert.equal([operation, outcome, took_ms], ['words add', 'asked', null]);
});

for (const [outcome, recorded] of [
  ['not_applied', [[7, 'store_unavailable']]],
  ['unknown', []],
] as const) {
  test(`a change that a store refused as ${outcome} is recorded as ${JSON.stringify(recorded)}`, async () => {
    const ended: unknown[] = [];
    const audit = { begin: async () => 7, end: async (...entry: unknown[]) => void ended.push(entry) };
    const setBan = () => Promise.reject(new StorageError('redis EVAL', { outcome, reason: 'unreachable' }));
    const app = { catalogue: { operator: { audit, people: { setBan } } } };
    const ban = adminOperations.find(({ command }) => command === 'users ban');
    const request = { operator: 'admin', params: { id: 'robin' }, query: {} };

    try {
      await ban?.route.handle(app as never, request as never);
      assert.unreachable('the store refused');
    } catch (error) {
      assert.instance(error, StorageError);
    }
    assert.equal(ended, recorded);
  });
}

test('a change is answered as done though its record cannot be completed', async () => {
  const ended: unknown[] = [];
  const end = (...entry: unknown[]) => {
    ended.push(entry);
    return Promise.reject(new StorageError('audit.end', { outcome: 'not_applied', reason: 'unreachable' }));
  };
  const setBan = async () => ({ stranger: false, sessions: [] });
  const operator = { audit: { begin: async () => 7, end }, people: { setBan } };
  const app = { catalogue: { operator }, sessions: { forgetTarget: () => {}, forget: () => {} } };
  const ban = adminOperations.find(({ command }) => command === 'users ban');
  const request = { operator: 'admin', params: { id: 'robin' }, query: {} };

  const reply = await ban?.route.handle(app as never, request as never);

  assert.equal([reply?.status, ended], [200, [[7, 'done']]]);
});

test('the record names the operator of each change', async () => {
  await world.operate('PUT', '/words/heron');
  assert.is((await newest()).operator, 'admin');
});

test('a token that may only read is refused every change with 403, and nothing is recorded', async () => {
  const { id } = await newest();
  for (const { route } of adminOperations.filter(({ route }) => route.method !== 'GET')) {
    const { status, json } = await world.operate(route.method, sampleOf(route.path), {}, readerToken);
    assert.equal([status, json.context.code], [403, 'forbidden'], route.name);
  }
  assert.is((await world.operate('GET', '/users', undefined, readerToken)).status, 200);
  assert.is((await newest()).id, id);
});

test('reads are not recorded', async () => {
  const { id } = await newest();
  await world.operate('GET', '/users');
  await world.operate('GET', '/bots');

  assert.is((await newest()).id, id);
});

test('the record never has a token', async () => {
  const { json } = await world.operate('POST', '/user/robin/tokens', { name: 'for the night shift' });
  const rows = await world.sql<{ text: string }[]>`select audit::text as text from audit`;

  assert.match(json.token, /^rc_user_robin_/);
  for (const { text } of rows) {
    assert.not.ok(text.includes(json.token) || text.includes(operatorToken), text);
  }
  assert.is((await newest()).details.name, 'for the night shift');
});

test('long values are cut at whole characters, in lists and objects too', async () => {
  const owl = '\u{1F989}';
  const body = {
    title: 'x',
    content: `x${owl.repeat(400)}`,
    author: 'robin',
  };
  assert.is((await world.operate('PUT', '/blog/long', body)).status, 200);
  const { content } = (await newest()).details;
  assert.ok(content.length < 540, content);
  assert.ok(content.isWellFormed());
  assert.match(content, /… \(801 characters\)$/);

  const questions = Array.from({ length: 40 }, (_, index) => ({
    id: `question-${index}`,
    question: 'Why?',
    paragraph: 'y'.repeat(2_000),
  }));
  assert.is((await world.operate('PUT', '/positions/long', { name: 'x', questions })).status, 200);
  const recorded = (await newest()).details.questions;
  assert.is(recorded.length, 21);
  assert.ok(recorded[0].paragraph.length < 540);
});

test('the record has pages of fifty', async () => {
  await world.sql`insert into audit (operation) select 'old' from generate_series(1, 60)`;
  const page = async (number: number) =>
    (await world.operate('GET', `/audit?page=${number}`)).json.entries.length;

  assert.is(await page(1), 50);
  assert.ok((await page(2)) > 10);
  assert.is(await page(9), 0);
});

test('the record is filtered by operator, command and word of the target', async () => {
  await world.sql`
    insert into audit (operator, operation, target) values
      ('wren', 'bots approve', '70'), ('wren', 'bots deny', '71'), ('robin', 'listings vote-ban', 'bot 70'),
      ('wren', 'botsies', '700')`;
  await world.sql`insert into audit (operation) select 'older' from generate_series(1, 60)`;
  const find = async (query: string) => {
    const { json } = await world.operate('GET', `/audit?${query}`);
    return json.entries.map(({ operator, target }: Record<string, string>) => `${operator} ${target}`);
  };

  assert.equal(await find('target=70'), ['robin bot 70', 'wren 70']);
  assert.equal(await find('operator=wren&operation=bots'), ['wren 71', 'wren 70']);
  assert.equal(await find('operation=bots%20approve&target=70'), ['wren 70']);
  assert.equal(await find('operator=nobody'), []);
  assert.ok((await find('rows=1000')).length > 60);
  const tooMany = await world.operate('GET', '/audit?rows=1001');
  assert.equal([tooMany.status, tooMany.json.context.code], [400, 'validation_failed']);
});

test.run();
