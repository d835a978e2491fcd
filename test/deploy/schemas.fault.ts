/**
 * The deploy files that are not started here, and say so in the figures: Compose is parsed, and the manifests
 * of Kubernetes are judged by the schemas of its API. Needs the registry of npm.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgeWith } from '../support/judge.ts';
import { project } from './containers.ts';

const test = suite('schemas of deploy files');

const toPath = (path: string): string => join(project, 'ops/deploy', path);

test('every object for Kubernetes is valid by the schemas of its API', () => {
  const script = `import { readFileSync } from 'node:fs';
    import { createRequire } from 'node:module';
    import { parseAllDocuments } from 'yaml';
    const require = createRequire(import.meta.url);
    for (const document of parseAllDocuments(readFileSync(process.argv[2], 'utf8'))) {
      const object = document.toJS();
      const { [object.kind]: Model } = require('kubernetes-models/' + object.apiVersion);
      new Model(object).validate();
      console.log(object.kind);
    }`;
  const kinds = judgeWith(
    ['kubernetes-models@4.5.1', 'yaml@2.9.1'],
    script,
    toPath('kubernetes/rollcall.yaml'),
  );

  assert.equal(kinds.trim().split('\n'), [
    'Service',
    'Service',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'StatefulSet',
  ]);
  console.log('figures: Kubernetes: judged by schema, not started (no cluster)');
});

test('Compose gives all nodes one token, and the password outside of URLs', () => {
  const script = `import { readFileSync } from 'node:fs';
    import { parse } from 'yaml';
    const { services } = parse(readFileSync(process.argv[2], 'utf8'), { merge: true });
    console.log(JSON.stringify(services));`;
  const services = JSON.parse(judgeWith(['yaml@2.9.1'], script, toPath('docker/compose.yaml')));

  for (const name of ['node1', 'node2', 'node3']) {
    const { ADMIN_TOKEN, PGPASSWORD, DATABASE_URL, REDIS_URL } = services[name].environment;
    assert.match(ADMIN_TOKEN, /^\$\{ADMIN_TOKEN:\?/);
    assert.match(PGPASSWORD, /^\$\{POSTGRES_PASSWORD:\?/);
    assert.not.match(DATABASE_URL + REDIS_URL, '$');
    assert.is(services[name].ports, undefined);
  }
  console.log(
    'figures: Compose: parsed, not started (its images of Redis, Postgres, HAProxy need a registry)',
  );
});

test.run();
