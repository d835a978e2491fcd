/**
 * `npm run routes`: every route has its file and line; a request shows the route that serves it, or why none
 * does.
 */
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../../http/api/table.ts';
import { adminOperations } from '../../../http/operator/table.ts';
import { describeRoutes } from '../../../ops/cli/routes.ts';

const test = suite('routes');

test('the table has every route with the line that contains its name', () => {
  const { text } = describeRoutes([]);

  for (const { name } of routes) {
    const [, file = '', line] = new RegExp(`\\s${name}\\s+(\\S+):(\\d+)$`, 'm').exec(text) ?? [];
    assert.ok(file, `${name} is not in the table`);
    const source = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8').split('\n');
    assert.match(source[Number(line) - 1] ?? '', `'${name}'`);
  }
});

test('the table has every operation of operators with its file and line', () => {
  const { text } = describeRoutes([]);

  for (const { route } of adminOperations) {
    const [, file = '', line] =
      new RegExp(`\\s${route.name}\\s+(http/operator/\\S+):(\\d+)$`, 'm').exec(text) ?? [];
    assert.ok(file, `${route.name} is not in the table`);
    const source = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8').split('\n');
    assert.match(source[Number(line) - 1] ?? '', /define(Operation|Deletion|List)\(/, route.name);
  }
  assert.match(text, /stores import-lines +http\/operator\/stores\.ts:\d/);
});

test('a request is looked up on both listeners', () => {
  assert.match(
    describeRoutes(['POST', '/bots/123/deny']).text,
    /^On the private listener: http\/operator\/listings/,
  );
  assert.match(
    describeRoutes(['GET', '/bots/123']).text,
    /^http\/api\/bots[\s\S]*\n\nOn the private listener: http/,
  );
});

for (const [args, expected] of [
  [['GET', '/bots/123/seo'], /^http\/api\/bots\/routes\.ts:\d+\n {2}GET \/bots\/\{id\}\/seo/],
  [['/bots/%40all'], /GET \/bots\/@all {2}/],
  [['http://127.0.0.1:8080/bots/123?target=page'], /GET \/bots\/\{id\} .*\n.*\n {2}parameters: id=123/],
  [['head', '/bots/123'], /GET \/bots\/\{id\} /],
  [['/users/1/bots/2/votes'], /PUT \/users[\s\S]*GET \/users|GET \/users[\s\S]*PUT \/users/],
] as const) {
  test(`${args.join(' ')} is found`, () => {
    const { text, found } = describeRoutes(args);

    assert.ok(found);
    assert.match(text, expected);
  });
}

test('help is no failure', () => {
  for (const option of ['--help', '-h']) {
    const { text, found } = describeRoutes([option]);

    assert.equal([found, text.slice(0, 5)], [true, 'Usage'], option);
  }
});

for (const [args, expected] of [
  [['/nowhere'], /404 route_not_found/],
  [['GET', '/docs'], /^No operation serves \/docs: .*, unless it is a document/],
  [['GET', '/bots/123/seo/'], /404 route_not_found/],
  [['DELETE', '/bots/123/seo'], /405 method_not_allowed\. It has GET, HEAD, OPTIONS/],
  [['bots/123'], /^Usage/],
  [['GET', '/bots/1', '/bots/2'], /^Usage/],
] as const) {
  test(`${args.join(' ')} is served by no route, and the text says why`, () => {
    const { text, found } = describeRoutes(args);

    assert.not.ok(found);
    assert.match(text, expected);
  });
}

test.run();
