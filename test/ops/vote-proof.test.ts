/**
 * A node with VOTE_PROOF asks the verifier of its settings, and counts the call.
 */
import { createServer } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { close, listen } from '../support/loopback.ts';
import { openWorld } from '../world.ts';

const test = suite('settings of proofs');

test('votes need a proof that the verifier of the settings accepts', async () => {
  const server = createServer((_, response) =>
    response.end('{"success":true,"hostname":"example.org","action":"vote"}'),
  );
  const node = await openWorld({
    settings: {
      VOTE_PROOF: 'always',
      PROOF_PROVIDER: 'hcaptcha',
      PROOF_VERIFY_URL: `http://127.0.0.1:${await listen(server)}`,
      PROOF_SITE_KEY: 'site',
      PROOF_SECRET: 'secret',
      PROOF_HOSTNAME: 'example.org',
      PROOF_ACTION: 'vote',
    },
  });
  const { bot, user } = node.demo;
  const vote = (headers: Record<string, string> = {}) =>
    fetch(`${node.url}/users/${user.id}/bots/${bot.id}/votes?upvote=true`, {
      method: 'PUT',
      headers: { 'User-Auth': user.token, ...headers },
    });
  const { context } = (await (await vote()).json()) as { context: Record<string, string> };
  assert.equal([context.code, context.provider, context.site_key], ['proof_required', 'hcaptcha', 'site']);
  assert.is((await vote({ 'X-Vote-Proof': 'human' })).status, 204);

  const metrics = await (await fetch(`${node.adminUrl}/metrics`)).text();
  assert.match(metrics, /^rollcall_outbound_requests_total\{service="proof",outcome="success"\} 1$/m);
  assert.match(metrics, /^rollcall_votes_total\{kind="bot",outcome="unproved"\} 1$/m);
  await node.close();
  await close(server);
});

test.run();
