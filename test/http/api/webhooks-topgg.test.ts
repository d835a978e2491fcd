/**
 * Webhooks for receivers of top.gg, against a complete Rollcall: the address is http on a loopback port, as
 * the operator of this test allows, and the receiver compares or verifies what it expects.
 */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertExcludes } from '../../support/assert-includes.ts';
import { close, listen } from '../../support/loopback.ts';
import { until } from '../../support/until.ts';
import { openWorld } from './world.ts';

const test = suite('webhooks for receivers of top.gg');
const received: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  received.push({ path: request.url ?? '', headers: request.headers, body });
  response.end();
});
const port = await listen(server);
const world = await openWorld({ webhooks: {} });
const bot = 'listed';
const webhooks = `/bots/${bot}/webhooks`;

test.before(async () => {
  for (const user of ['robin', 'voter']) await addUser(world.sql, user);
  await addBot(world.sql, bot);
});
test.after(async () => {
  await world.close();
  await close(server);
});

const call = async (method: string, path: string, body?: object, owner = 'robin') =>
  world.ask(method, path, { token: await world.token('user', owner), ...(body && { body }) });
const createOne = async (name: string, fields: object): Promise<{ id: string; secret: string }> => {
  const url = `http://localhost:${port}/${name}`;
  const { status, json, text } = await call('POST', webhooks, { name, url, ...fields });
  assert.is(status, 201, text);
  return json;
};

test('a vote reaches v0 with an own `Authorization`, and v1 with its signature, by http', async () => {
  const authorization = 'what the receiver compares';
  const v0 = await createOne('v0', { format: 'topgg', authorization });
  const { secret } = await createOne('v1', { format: 'topgg_v1' });
  assert.is(
    (await call('PUT', `/users/voter/bots/${bot}/votes?upvote=true`, undefined, 'voter')).status,
    204,
  );
  await world.engine.waitForFlush('bot', bot);
  await until('both requests', () => received.length === 2);

  const at = (path: string) => received.find((request) => request.path === path);
  assert.is(at('/v0')?.headers.authorization, authorization);
  const { headers, body } = at('/v1') ?? { headers: {} as IncomingHttpHeaders, body: '' };
  const [t, v1] = String(headers['x-topgg-signature'])
    .split(',')
    .map((part) => part.split('=')[1]);
  assert.is(v1, createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'));
  const { type, data } = JSON.parse(body);
  assert.equal([type, data.project.platform_id, data.user.platform_id], ['vote.create', bot, 'voter']);
  assertExcludes((await call('GET', webhooks)).text, authorization);

  assert.is((await call('PATCH', `${webhooks}/${v0.id}`, { authorization: null })).status, 204);
  received.length = 0;
  assert.ok((await call('POST', `${webhooks}/${v0.id}/test`)).json.delivered);
  assert.is(at('/v0')?.headers.authorization, v0.secret);
});

test('an `authorization` elsewhere, void votes and teams → 400', async () => {
  await addTeam(world.sql, 'crew');
  const url = `http://localhost:${port}/`;
  for (const fields of [
    { authorization: 'x' },
    { format: 'topgg_v1', authorization: 'x' },
    { format: 'topgg', authorization: 'x\r\ny' },
    { format: 'topgg_v1', events: ['vote.voided'] },
  ])
    assert.is(
      (await call('POST', webhooks, { name: 'x', url, ...fields })).status,
      400,
      JSON.stringify(fields),
    );
});

test.run();
