/**
 * The documents as pages: every document of docs/ is there, every link of a page leads to something that the
 * server has, every anchor exists, and the search finds a section.
 */
import { globSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listGuidePages } from '../../../http/site/guide-index.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { ask, openWorld } from '../world.ts';

const test = suite('guides');
const world = await openWorld();
test.after(() => world.close());

const folder = new URL('../../../docs/', import.meta.url);
const readText = (path: string): string => readFileSync(new URL(path, folder), 'utf8');
const pages = listGuidePages(readText('README.md'));
const read = (path: string) => ask(world, 'GET', path);

test('docs/README.md has every document, once, and each is served as it is', async () => {
  const files = globSync('**/*.md', { cwd: folder.pathname });
  const names = files.map((file) => file.replace('.md', '').replace('README', 'index'));
  assert.equal([...names].sort(), pages.map(({ name }) => name).sort());
  for (const file of files) {
    const served = await read(`/docs/${file.replace('README', 'index')}`);
    assert.is(served.text, readText(file), file);
    assert.is(served.headers.get('content-type'), 'text/markdown; charset=utf-8');
    assert.match(served.headers.get('etag') ?? '', /^"/);
  }
});

const seen = new Map<string, Promise<string>>();
const readPage = (path: string): Promise<string> => {
  const text = seen.get(path) ?? read(path).then((reply) => (reply.status === 200 ? reply.text : ''));
  seen.set(path, text);
  return text;
};

for (const { name } of pages) {
  test(`/docs/${name}: contents, links and anchors lead somewhere`, async () => {
    const text = await readPage(`/docs/${name}`);
    assert.match(text, /<nav class="contents"/);
    const links = new Set([...text.matchAll(/<a href="([^"]*)"/g)].map(([, link = '']) => link));
    for (const link of links) {
      const [path = '', anchor] = link.split('#');
      if (!/^([/#]|$)/.test(link) || path === '/' || path.startsWith('/search')) continue;
      const target = path === '' ? text : await readPage(path);
      assert.is.not(target, '', link);
      if (anchor !== undefined) assertIncludes(target, `id="${anchor}"`, link);
    }
  });
}

test('the search finds sections by all their words, and what is not there is said', async () => {
  assertIncludes((await read('/docs/search?q=stolen+unicorn')).text, 'Nothing found');
  const { text } = await read('/docs/search?q=Revoke+LEAKED');
  assertIncludes(text, '/docs/runbook/token-leaked#');
  assert.is((await read('/docs/search')).status, 200);
  assert.is((await read('/docs/operators/nothing')).status, 404);
});

test('a page names its neighbours', async () => {
  const { text } = await read('/docs/operators/stores');
  assertIncludes(text, '← <a href="/docs/operators/install">');
  assertIncludes(text, '<a href="/docs/operators/redis">Redis</a> →');
});

test.run();
