/**
 * The files of the operator's page: who gets them, with which headers, and how large they are; and what its
 * forms are drawn from.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adminOperations } from '../../../http/operator/table.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { openOperated, readerToken } from './world.ts';

const test = suite("the operator's page");
const world = await openOperated();
test.after(() => world.close());

const load = (path: string, headers: Record<string, string> = {}, port = world.adminPort) =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers });

/** The page, and every file that it and its files name. */
const loadAll = async (): Promise<Map<string, Response>> => {
  const found = new Map<string, Response>();
  const visit = async (path: string): Promise<void> => {
    if (found.has(path)) return;
    const answer = await load(path);
    found.set(path, answer.clone());
    const names = [...(await answer.text()).matchAll(/(?:src|href)="(\/[^"]+)"|from '\.(\/\w+\.ts)'/g)];
    for (const [, absolute, relative] of names) await visit(absolute ?? `/page${relative}`);
  };
  await visit('/');
  return found;
};

test('the page and all files that it loads need no token, and are at most 150 KB', async () => {
  const files = await loadAll();
  let bytes = 0;
  for (const [path, answer] of files) {
    assert.is(answer.status, 200, path);
    bytes += (await answer.arrayBuffer()).byteLength;
  }

  assert.ok(files.has('/page/queue.ts') && files.has('/page/uplot.js') && files.has('/page/page.css'));
  assert.ok(bytes < 150_000, String(bytes));
});

test('every file forbids inline code, other addresses and text that becomes markup', async () => {
  for (const [path, { headers }] of await loadAll()) {
    const policy = headers.get('content-security-policy') ?? '';
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      assertIncludes(policy.split('; '), rule, `${path}: ${rule}`);
    }
    assert.not.match(policy, /unsafe|\*|http/, path);
    assert.is(headers.get('x-content-type-options'), 'nosniff', path);
  }
});

test('scripts come without types, and with a tag', async () => {
  const script = await load('/page/api.ts');
  const text = await script.text();
  const tag = script.headers.get('etag') ?? '';

  assert.is(script.headers.get('content-type'), 'text/javascript; charset=utf-8');
  assert.not.match(text, /^(export )?(interface|type|import type) /m);
  assert.is((await load('/page/api.ts', { 'if-none-match': tag })).status, 304);
});

test('no other file is served, and none at the public port', async () => {
  for (const name of ['page.html', 'constructor', '..%2fadmin.ts', 'tsconfig.json', 'route.ts']) {
    assert.is((await load(`/page/${name}`)).status, 404, name);
  }
  for (const path of ['/page/main.ts', '/page/operations', '/live']) {
    assert.is((await load(path, {}, world.port)).status, 404, path);
  }
});

test('what forms are drawn from needs a token, names its owner, and has every operation', async () => {
  assert.is((await load('/page/operations')).status, 401);
  const { json } = await world.operate('GET', '/page/operations');
  const reader = await world.operate('GET', '/page/operations', undefined, readerToken);

  assert.equal([json.operator, json.read_only], ['admin', false]);
  assert.equal([reader.json.operator, reader.json.read_only], ['reader', true]);
  assert.equal(
    json.operations.map(({ command }: { command: string }) => command),
    adminOperations.map(({ command }) => command),
  );
});

test.run();
