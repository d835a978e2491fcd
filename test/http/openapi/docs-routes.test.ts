/**
 * What the documentation routes serve: the guide as Markdown, /llms.txt, and the demo's tokens on the page,
 * which only a page of this server gets that was opened on the machine it runs on.
 */
import { get } from 'node:http';
import { json } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../../http/api/table.ts';
import type { App } from '../../../http/app.ts';
import { exampleIds } from '../../../http/openapi/docs-page.ts';
import { buildDocsRoutes } from '../../../http/openapi/docs-routes.ts';
import { buildOpenApiDocument } from '../../../http/openapi/document.ts';
import { buildLlmsText } from '../../../http/openapi/llms-text.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { ask, openWorld } from '../world.ts';

const test = suite('documentation routes');
const account = (id: string) => ({ id, token: `rc_token_of_${id}` });
const accounts = {
  user: account('1'),
  second_user: account('5'),
  bot: account('2'),
  server: account('3'),
  team: account('4'),
  pack: { url: 'kit' },
};
const demo = { ...accounts, admin_token: 'secret', user: { ...accounts.user, name: 'robin' } };
const world = await openWorld({ findDemo: () => demo });
test.after(() => world.close());

const ownPage = { 'sec-fetch-site': 'same-origin' };
/** `fetch` lets no program set `Host`. */
const readDemo = (headers: Record<string, string>): Promise<{ json: unknown; caching: string }> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: world.port, path: '/docs/demo.json', headers }, (response) => {
      const caching = response.headers['cache-control'] ?? '';
      json(response).then((body) => resolve({ json: body, caching }), reject);
    }).on('error', reject);
  });

test('a page of this machine gets ids and tokens of the demo, and nothing else of its file', async () => {
  const answer = await readDemo(ownPage);

  assert.equal(answer, { json: accounts, caching: 'no-store' });
});

test('pages of other sites, programs and clients behind a proxy get no token', async () => {
  const others: Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { ...ownPage, 'x-forwarded-for': '203.0.113.7' },
    { ...ownPage, host: 'directory.example' },
    { ...ownPage, host: '127.0.0.1.example:80' },
  ];

  for (const headers of others) {
    const answer = await readDemo(headers);
    assert.equal(answer, { json: null, caching: 'no-store' }, JSON.stringify(headers));
  }
});

test('the ids that the page replaces are those of the examples', () => {
  const document = JSON.stringify(buildOpenApiDocument(routes));

  for (const id of Object.values(exampleIds)) assertIncludes(document, `"${id}"`, id);
});

test('the example of a path names an entity of the kind that the path is about', () => {
  const { paths } = buildOpenApiDocument(routes) as unknown as {
    paths: Record<
      string,
      Record<string, { parameters?: { name: string; schema: { examples?: string[] } }[] }>
    >;
  };
  for (const [path, operations] of Object.entries(paths))
    for (const { parameters = [] } of Object.values(operations)) {
      const examples = new Map(parameters.map(({ name, schema }) => [name, schema.examples?.[0]]));
      if (path.startsWith('/teams/{')) assert.is([...examples.values()][0], exampleIds.team, path);
      if (examples.has('target_type')) assert.is(examples.get('target_type'), 'bot', path);
      if (examples.has('target_id')) assert.is(examples.get('target_id'), exampleIds.bot, path);
    }
});

test('a document is built, encoded and tagged once', async () => {
  const documents = buildDocsRoutes(routes, () => null).filter(({ path }) =>
    /\.(json|txt|md|js)$/.test(path),
  );
  const once = documents.filter(({ name }) => name !== 'docsDemo' && name !== 'docsStart');
  assert.ok(once.length >= 5, String(once.length));
  for (const { name, handle } of once) {
    const read = () => handle({} as App, {} as Parameters<typeof handle>[1]);
    const [first, second] = [await read(), await read()];
    assert.is(first, second, name);
    assert.ok(first.bytes !== undefined, name);
  }
  const { headers } = await ask(world, 'GET', '/openapi.json');
  const etag = headers.get('etag') ?? '';
  assert.match(etag, /^"/);
  const again = await ask(world, 'GET', '/openapi.json', { headers: { 'if-none-match': etag } });
  assert.is(again.status, 304);
});

test('a slash after /docs is 404, as after every path, and the answer names the page', async () => {
  const { status, json } = await ask(world, 'GET', '/docs/');

  assert.equal([status, json.message], [404, 'There is no such path. Send GET /docs instead.']);
});

test('what the guide links to is served beside it, and so is the document', async () => {
  const beside = await ask(world, 'GET', '/docs/openapi.json');
  const document = await ask(world, 'GET', '/openapi.json');

  assert.is(beside.text, document.text);
});

test('/asyncapi.json names every message of the feed, and resolves', async () => {
  const { json } = await ask(world, 'GET', '/asyncapi.json');
  const { channels, operations } = json as unknown as Record<string, Record<string, { messages: object }>>;
  const text = JSON.stringify(json);
  const member = (node: unknown, key: string): unknown => Reflect.get(node as object, key);

  assert.equal(Object.keys(channels?.stream?.messages ?? {}), [
    'hello',
    'totals',
    'vote',
    'gap',
    'reset',
    'gone',
    'subscribed',
    'error',
    'pong',
    'bye',
  ]);
  assert.equal(Object.keys(operations ?? {}), ['sendToSocket', 'receiveFromSocket', 'sendToStream']);
  for (const [, ref = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g))
    assert.ok(ref.split('/').reduce(member, json as unknown), ref);
  assert.not.match(text, '#/components');
});

test('/llms.txt begins with the name, links to documents that exist, and names every operation', async () => {
  const guide = buildLlmsText(routes);
  const served = await ask(world, 'GET', '/llms.txt');

  assert.match(guide, /^# Rollcall\n\n> /);
  const first = guide.indexOf('curl -X POST $URL/auth/test');
  assert.ok(first > 0 && first < guide.indexOf('## Tokens'), 'what to call first');
  for (const part of ['## Tokens', '## Limits', '## Errors', '## Votes']) assertIncludes(guide, part, part);
  assert.not.match(guide, /this page/);
  for (const [, path = ''] of guide.matchAll(/\]\((\/[^)]*)\)/g))
    assert.is((await ask(world, 'GET', path)).status, 200, path);
  for (const { method, path } of routes) assertIncludes(guide, `\`${method} ${path}\``, path);
  assert.match(served.text, /^# Rollcall/);
});

test.run();
