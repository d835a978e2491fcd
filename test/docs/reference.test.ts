/**
 * The pages of docs/reference are what `npm run document` writes, and every metric, note and setting that a
 * document names is there.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../http/api/table.ts';
import { buildOpenApiDocument } from '../../http/openapi/document.ts';
import { buildReference } from '../../ops/cli/reference/pages.ts';

const test = suite('reference');
const folder = new URL('../../docs/reference/', import.meta.url);

test('docs/reference has the generated pages and no others: run `npm run document`', async () => {
  const pages = await buildReference(JSON.parse(JSON.stringify(buildOpenApiDocument(routes))));

  assert.equal(readdirSync(folder).sort(), [...pages.keys()].sort());
  const old = [...pages].filter(([name, text]) => readFileSync(new URL(name, folder), 'utf8') !== text);
  assert.equal(
    old.map(([name]) => name),
    [],
  );
});

test.run();
