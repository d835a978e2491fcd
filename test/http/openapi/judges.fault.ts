/**
 * The documents that clients are generated from, judged by tools of others: Spectral's rules for OpenAPI,
 * and AsyncAPI's own parser. Needs the registry of npm.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildAsyncApiDocument } from '../../../http/openapi/asyncapi.ts';
import { judgeWith } from '../../support/judge.ts';

const test = suite('judges of documents');

test('Spectral finds nothing in the OpenAPI document', () => {
  const script = `import { readFileSync } from 'node:fs';
    import core from '@stoplight/spectral-core';
    import { oas } from '@stoplight/spectral-rulesets';
    const spectral = new core.Spectral();
    spectral.setRuleset({ extends: [[oas, 'recommended']] });
    const document = JSON.parse(readFileSync(process.argv[2], 'utf8'));
    const findings = await spectral.run(document);
    // A fault that it must find, so that silence means something.
    delete document.paths['/bots/{id}'].get.responses;
    const planted = await spectral.run(document);
    console.log(JSON.stringify({ findings, planted: planted.length }));`;
  const packages = ['@stoplight/spectral-core@1.24.1', '@stoplight/spectral-rulesets@1.23.1'];
  const file = fileURLToPath(new URL('../../../docs/openapi.json', import.meta.url));
  const { findings, planted } = JSON.parse(judgeWith(packages, script, file));

  assert.equal(findings, []);
  assert.ok(planted > 0);
});

test('the parser of AsyncAPI takes the document of the feed', () => {
  const script = `import { readFileSync } from 'node:fs';
    import { Parser } from '@asyncapi/parser';
    const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], 'utf8'));
    const faults = diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version');
    console.log(JSON.stringify({ faults, operations: document.operations().all().length }));`;
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-asyncapi-'));
  const file = join(folder, 'asyncapi.json');
  writeFileSync(file, JSON.stringify(buildAsyncApiDocument()));
  try {
    const { faults, operations } = JSON.parse(judgeWith(['@asyncapi/parser@3.6.6'], script, file));
    assert.equal(faults, []);
    assert.is(operations, 3);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.run();
