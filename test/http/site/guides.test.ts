/**
 * The guides as pages: every link of them leads to something that the server has, every anchor exists, and a
 * block of code is there as it is in the file.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertIncludes } from '../../support/assert-includes.ts';
import { ask, openWorld } from '../world.ts';

const test = suite('guides');
const world = await openWorld();
test.after(() => world.close());

const guides = ['client-guide', 'behaviour', 'operating', 'import-format'];
const read = (path: string) => ask(world, 'GET', path);

for (const guide of guides) {
  test(`/docs/${guide}: contents, links and anchors lead somewhere`, async () => {
    const { status, text, headers } = await read(`/docs/${guide}`);
    assert.is(status, 200);
    assert.is(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(text, /<nav class="contents"/);
    const links = new Set([...text.matchAll(/<a href="([^"]*)"/g)].map(([, link = '']) => link));
    for (const link of links) {
      const [path = '', anchor] = link.split('#');
      if (!/^([/#]|$)/.test(link) || path === '/') continue;
      const target = path === '' ? text : (await read(path)).text;
      if (path !== '' && !path.startsWith('/search')) assert.is((await read(path)).status, 200, link);
      if (anchor !== undefined) assertIncludes(target, `id="${anchor}"`, link);
    }
  });
}

test.run();
