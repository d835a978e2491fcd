/**
 * No operation of either listener says that nothing was changed once it has changed something: each
 * statement, each transaction and each call of the engine after each change fails once.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { routes } from '../../http/api/table.ts';
import { adminOperations } from '../../http/operator/table.ts';
import { createCatalogue } from '../../storage/catalogue/catalogue.ts';
import { startOpenIdProvider } from '../support/login-provider.ts';
import { createFaults } from './after-change/faults.ts';
import { createLogin, prepareLogin } from './after-change/login.ts';
import { beginAttempt, operations, prepared } from './after-change/operations.ts';
import { expected } from './authorisation/expected.ts';
import { sampleOf } from './authorisation/requests.ts';
import { type Operated, openOperated } from './operator/world.ts';

const test = suite('after a change');
const provider = await startOpenIdProvider();
const world = await openOperated({ login: createLogin(provider.issuer) });
test.after(async () => {
  await world.close();
  await provider.close();
});
const faults = createFaults();
Object.assign(world.app, {
  catalogue: createCatalogue(faults.wrapSql(world.sql), { snapshotAgeMaxMs: 1 }),
  engine: faults.wrapEngine(world.engine),
});

/** Fails one step after another until the request gets to its end. Resolves to how many it had. */
const failEachStep = async (begin: () => Promise<() => Promise<Operated>>, name: string): Promise<number> => {
  for (let steps = 0; ; steps++) {
    const request = await begin();
    const { result, changed, failed } = await faults.during(steps, request);
    const { status, json } = result;
    assert.ok(changed, `${name} changes something: ${status} ${JSON.stringify(json)}`);
    if (!failed) {
      assert.ok(status < 300, `${name}: ${status} ${JSON.stringify(json)}`);
      return steps;
    }
    if (status < 300) continue; // It does not need what failed.
    const words = `${name}, step ${steps}: ${JSON.stringify(json)}`;
    assert.equal([status, json.context.outcome], [503, 'unknown'], words);
  }
};

/** They change nothing in SQL: the engine alone carries them out, or they only read or send. */
const others = ['postStats', 'postShards', 'castVote', 'testToken', 'testWebhook'];

let requests = 0;
const preparations: typeof prepared = { ...prepared, logIn: prepareLogin };

for (const route of routes.filter(({ method }) => method !== 'GET'))
  test(`${route.name}: a failure after a change is not "not applied"`, async () => {
    if (others.includes(route.name) || route.name.startsWith('old')) return;
    const kind = expected[route.name]?.kinds[0] ?? 'user';
    await failEachStep(async () => {
      const attempt = await beginAttempt(world);
      const { people } = attempt;
      const sample = sampleOf(route, people, kind);
      const [line, body] = (await preparations[route.name]?.(attempt)) ?? [
        `${route.method} ${sample.path}`,
        sample.body,
      ];
      const [method = '', path = ''] = line.split(' ');
      const token = await world.token(kind, people[kind]);
      // Each from an address of its own.
      const headers = { 'x-forwarded-for': `9.9.9.${++requests}` };
      return () => world.ask(method, path, { token, body, headers });
    }, route.name);
  });

const changing = adminOperations.filter(({ route }) => route.method !== 'GET');

test('every operation of the private listener is tried', () => {
  assert.equal(Object.keys(operations).sort(), changing.map(({ command }) => command).sort());
});

for (const [command, build] of Object.entries(operations))
  test(`${command}: a failure after a change is not "not applied"`, async () => {
    await failEachStep(async () => {
      const [line, body] = await build(await beginAttempt(world));
      return () => world.send(line, body);
    }, command);
  });

test.run();
