/**
 * Votes that need a proof of a human, with verifiers on loopback that answer as Turnstile, hCaptcha and
 * reCAPTCHA do, and with some that are slow, lie, or are away.
 */
import { createServer, type RequestListener } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { VoteRequest } from '../../../engine/engine.ts';
import { createVoteProof } from '../../../http/api/shared/vote-proof.ts';
import { createProofVerifier, type ProofProvider } from '../../../http/outbound/vote-proof.ts';
import { createMetrics } from '../../../http/telemetry/metrics.ts';
import { addBot, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { close, listen } from '../../support/loopback.ts';
import { until } from '../../support/until.ts';
import { codeOf, openWorld, type World } from './world.ts';

const test = suite('a proof of a human');

/* ---------------------------------------------------------------- verifiers */

type Form = Readonly<Record<string, string>>;
/** What a verifier answers: JSON with a status, text, or nothing at all. */
type Answer = { readonly status?: number; readonly json?: object; readonly text?: string } | null;

const forms: Form[] = [];
let answer: (form: Form) => Answer = () => ({ json: { success: true } });
/** Answers wait for this. */
let released: Promise<void> | null = null;

const listener: RequestListener = async (request, response) => {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  const form = Object.fromEntries(new URLSearchParams(text));
  forms.push(form);
  await released;
  const given = answer(form);
  if (given === null) return;
  const { status = 200, json } = given;
  response.writeHead(status, { 'content-type': json ? 'application/json' : 'text/html' });
  response.end(json ? JSON.stringify(json) : given.text);
};
const server = createServer(listener);
const url = `http://127.0.0.1:${await listen(server)}/siteverify`;

/** Passes `human…`, once each, as all three do; Turnstile repeats its answer to the same key. */
const createHonest = (provider: ProofProvider) => {
  const used = new Map<string, string | undefined>();
  return (form: Form): Answer => {
    const { secret, response = '', idempotency_key: key } = form;
    if (secret !== 'secret') return { json: { success: false, 'error-codes': ['invalid-input-secret'] } };
    if (!response.startsWith('human'))
      return { json: { success: false, 'error-codes': ['invalid-input-response'] } };
    if (used.has(response) && (key === undefined || used.get(response) !== key))
      return { json: { success: false, 'error-codes': ['timeout-or-duplicate'] } };
    used.set(response, key);
    const action = provider === 'turnstile' ? { action: 'vote' } : {};
    return {
      json: { success: true, hostname: 'example.org', challenge_ts: '2026-01-01T00:00:00Z', ...action },
    };
  };
};

/* -------------------------------------------------------------------- world */

let nowMs = 1_000_000;
const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
const { outbound: meters } = createMetrics([], { version: '1.2.3', commit: 'unknown' });

interface ProofSettings {
  readonly provider?: ProofProvider;
  readonly secret?: string;
  readonly hostname?: string;
  readonly action?: string;
  readonly whenAway?: 'allow' | 'refuse';
  readonly timeLimitMs?: number;
  readonly isSuspect?: (vote: VoteRequest) => boolean;
}
const create = (settings: ProofSettings = {}) => {
  const {
    provider = 'turnstile',
    secret = 'secret',
    hostname = '',
    action = '',
    whenAway = 'refuse',
  } = settings;
  const { timeLimitMs = 20_000, isSuspect } = settings;
  const verifier = createProofVerifier({
    ...{ provider, url, secret, hostname, action, clock, meters, timeLimitMs },
  });
  return createVoteProof({ verifier, provider, siteKey: 'site-key', whenAway, clock, isSuspect });
};

/** The proof of the world, which tests replace. */
let current = create();
const voteProof: World['app']['voteProof'] = {
  spares: (vote) => current.spares(vote),
  prove: (user, proof) => current.prove(user, proof),
};
const world = await openWorld({ voteProof });
const users = Array.from({ length: 200 }, (_, index) => `user${index}`);
const tokens = new Map<string, string>();
await addUser(world.sql, 'robin');
await addBot(world.sql, 'bot1');
await addBot(world.sql, 'bot2');
await addTeam(world.sql, 'team1');
await addServer(world.sql, 'server1', { team_id: 'team1' });
for (const user of users) {
  await addUser(world.sql, user);
  tokens.set(user, await world.token('user', user));
}
test.before.each(() => {
  forms.length = 0;
  released = null;
  current = create();
  answer = createHonest('turnstile');
});
test.after(async () => {
  await world.close();
  await close(server);
});

let nextUser = 0;
const takeUser = (): string => users[nextUser++] as string;
const vote = (user: string, proof?: string, path = 'bots/bot1') =>
  world.ask('PUT', `/users/${user}/${path}/votes?upvote=true`, {
    token: tokens.get(user) as string,
    ...(proof !== undefined && { headers: { 'X-Vote-Proof': proof } }),
  });

/* -------------------------------------------------------------------- tests */

test('without a proof a vote is refused, and says what to show', async () => {
  const user = takeUser();
  const refused = await vote(user);
  const { provider, site_key } = refused.json.context;

  assert.equal([...codeOf(refused), provider, site_key], [403, 'proof_required', 'turnstile', 'site-key']);
  assert.equal(forms, []);
  const status = await world.ask('GET', `/users/${user}/bots/bot1/votes`);
  assert.is(status.json.has_voted, false);
});

for (const provider of ['turnstile', 'hcaptcha', 'recaptcha'] as const) {
  test(`${provider}: a proof counts for a day, for its account alone`, async () => {
    answer = createHonest(provider);
    current = create({ provider, hostname: 'example.org', action: provider === 'turnstile' ? 'vote' : '' });
    const [user, other] = [takeUser(), takeUser()];
    assert.is((await vote(user, `human-${provider}`)).status, 204);
    assert.is((await vote(user, undefined, 'servers/server1')).status, 204);
    assert.equal(codeOf(await vote(other, `human-${provider}`)), [403, 'proof_required'], 'a used proof');
    assert.is(forms.length, 2);
    const [{ secret, response, remoteip, idempotency_key: key } = {} as Form] = forms;
    assert.equal([secret, response, remoteip], ['secret', `human-${provider}`, '127.0.0.1']);
    assert.is(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key ?? ''), provider === 'turnstile');

    nowMs += 24 * 3_600_000;
    assert.equal(codeOf(await vote(user, undefined, 'bots/bot2')), [403, 'proof_required']);
  });
}

test('a proof that another node has seen is repeated by its id', async () => {
  const user = takeUser();
  const proof = { token: 'human-twice', address: '10.0.0.1' };
  await create().prove(user, proof);
  await create().prove(user, proof);

  assert.is(forms.length, 2);
  assert.is(forms[0]?.idempotency_key, forms[1]?.idempotency_key);
});

test('nine votes at once with one proof ask the verifier once', async () => {
  const user = takeUser();
  const answers = await Promise.all(Array.from({ length: 9 }, () => vote(user, 'human-at-once')));
  const statuses = answers.map(({ status }) => status).sort();

  assert.equal(statuses, [204, 429, 429, 429, 429, 429, 429, 429, 429]);
  assert.is(forms.length, 1);
});

const wrong: Readonly<Record<string, readonly [settings: ProofSettings, json: object]>> = {
  'another host': [{ hostname: 'example.org' }, { success: true, hostname: 'example.com' }],
  'no host': [{ hostname: 'example.org' }, { success: true }],
  'another action': [{ action: 'vote' }, { success: true, action: 'login' }],
  'a low score': [{ provider: 'recaptcha' }, { success: true, score: 0.1 }],
  'no success': [{ provider: 'hcaptcha' }, { success: false, 'error-codes': ['expired-input-response'] }],
};
for (const [title, [settings, json]] of Object.entries(wrong)) {
  test(`${title}: the proof is not accepted`, async () => {
    current = create(settings);
    answer = () => ({ json });
    assert.equal(codeOf(await vote(takeUser(), 'human')), [403, 'proof_required']);
    answer = () => ({ status: 400, json: { ...json, success: false } });
    assert.equal(codeOf(await vote(takeUser(), 'human')), [403, 'proof_required'], 'with another status');
  });
}

for (const [title, token] of [
  ['too long', 'x'.repeat(4_097)],
  ['with a blank', 'hu man'],
] as const) {
  test(`a proof that is ${title} is refused unseen`, async () => {
    assert.equal(codeOf(await vote(takeUser(), token)), [403, 'proof_required']);
    assert.equal(forms, []);
  });
}

const away: Readonly<Record<string, Answer>> = {
  'a page': { text: '<html>' },
  'success as a word': { json: { success: 'true' } },
  'a list': { json: [true] },
  'a failure': { status: 500, json: { error: 'oops' } },
  'a failure that looks like a refusal': { status: 500, json: { success: false } },
  'a redirect that looks like a refusal': { status: 302, json: { success: false } },
  'that our secret is wrong': { json: { success: false, 'error-codes': ['invalid-input-secret'] } },
  'that it has failed': { json: { success: false, 'error-codes': ['internal-error'] } },
  nothing: null,
};
for (const [title, given] of Object.entries(away)) {
  test(`a verifier that sends ${title} is away: votes are refused or counted, as set`, async () => {
    answer = () => given;
    const timeLimitMs = given === null ? 50 : 20_000;
    current = create({ timeLimitMs });
    const refused = await vote(takeUser(), 'human');
    assert.equal(codeOf(refused), [503, 'proof_unavailable']);
    assert.equal([refused.json.context.outcome, refused.headers.get('retry-after')], ['not_applied', '10']);

    current = create({ whenAway: 'allow', timeLimitMs });
    const user = takeUser();
    assert.is((await vote(user, 'human')).status, 204);
    answer = createHonest('turnstile');
    nowMs += 60_000;
    assert.equal(codeOf(await vote(user, undefined, 'bots/bot2')), [403, 'proof_required'], 'it is no proof');
  });
}

/* ------------------------------------------------------------- our own load */

const busyCode = [503, 'overloaded', 'not_applied', '2'];
const readBusy = (refused: Awaited<ReturnType<typeof vote>>) => [
  ...codeOf(refused),
  refused.json.context.outcome,
  refused.headers.get('retry-after'),
];

test('of a crowd of junk proofs, those beyond the calls in flight are refused, and none counts', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  released = promise;
  current = create({ whenAway: 'allow' });
  const refusedAtOnce: Awaited<ReturnType<typeof vote>>[] = [];
  const all = Array.from({ length: 30 }, takeUser).flatMap((user) =>
    Array.from({ length: 10 }, (_, index) => vote(user, `junk-${index}`)),
  );
  for (const each of all) each.then((refused) => refusedAtOnce.push(refused));
  await until('the others are refused', () => forms.length === 256 && refusedAtOnce.length === 44);
  for (const refused of refusedAtOnce) assert.equal(readBusy(refused), busyCode);
  resolve();
  const codes = (await Promise.all(all)).map((refused) => codeOf(refused).join(' '));
  assert.is(codes.filter((code) => code === '403 proof_required').length, 256);
  assert.is((await vote(takeUser(), 'human-behind-the-crowd')).status, 204);
});

for (const whenAway of ['allow', 'refuse'] as const) {
  const requireBusy = async (proofs: number) => {
    for (let count = 0; count < proofs; count++)
      assert.equal(readBusy(await vote(takeUser(), `junk-${count}`)), busyCode);
    answer = createHonest('turnstile');
    assert.is((await vote(takeUser(), 'human')).status, 204, 'the circuit is closed');
  };

  test(`an answer beyond the cap is no failure of the verifier (${whenAway})`, async () => {
    current = create({ whenAway });
    for (const status of [200, 400, 500]) {
      answer = () => ({ status, json: { success: true, more: 'x'.repeat(100_000) } });
      await requireBusy(4);
    }
  });

  test(`no answer while others get one is no failure of the verifier (${whenAway})`, async () => {
    current = create({ whenAway, timeLimitMs: 1_500 });
    const honest = createHonest('turnstile');
    answer = (form) => (form.response?.startsWith('silent') ? null : honest(form));
    const silent = Array.from({ length: 4 }, (_, index) => vote(takeUser(), `silent-${index}`));
    await until('they are asked', () => forms.length === 4);
    assert.is((await vote(takeUser(), 'human-beside')).status, 204);
    for (const each of silent) assert.equal(readBusy(await each), busyCode);
    assert.is((await vote(takeUser(), 'human-later')).status, 204, 'the circuit is closed');
  });

  test(`a verifier that gets too much rests, and votes are refused meanwhile (${whenAway})`, async () => {
    current = create({ whenAway });
    answer = () => ({ status: 429, json: { success: false } });
    assert.equal(readBusy(await vote(takeUser(), 'junk')), busyCode);
    answer = createHonest('turnstile');
    assert.equal(readBusy(await vote(takeUser(), 'human-meanwhile')), busyCode);
    assert.is(forms.length, 1);
    nowMs += 10_000;
    assert.is((await vote(takeUser(), 'human-at-last')).status, 204);
  });
}

for (const code of ['bad-request', 'sitekey-secret-mismatch', 'invalid-input-response']) {
  test(`proofs that get the error ${code} are refused, and open no circuit`, async () => {
    current = create({ whenAway: 'allow' });
    answer = () => ({ json: { success: false, 'error-codes': [code] } });
    for (let count = 0; count < 4; count++)
      assert.equal(codeOf(await vote(takeUser(), `junk-${count}`)), [403, 'proof_required']);
    assert.is(forms.length, 4);
  });
}

/* -------------------------------------------------------------- other rules */

test('after three failures the verifier rests, then one request tries it', async () => {
  answer = () => ({ status: 500, text: '' });
  const user = takeUser();
  for (let count = 0; count < 5; count++)
    assert.equal(codeOf(await vote(user, `human-${count}`)), [503, 'proof_unavailable']);
  assert.is(forms.length, 3);
  answer = createHonest('turnstile');
  nowMs += 10_000;

  assert.is((await vote(user, 'human-at-last')).status, 204);
  assert.is(forms.length, 4);
});

test('an account tries ten proofs a minute', async () => {
  const user = takeUser();
  for (let count = 0; count < 10; count++)
    assert.equal(codeOf(await vote(user, `robot-${count}`)), [403, 'proof_required']);
  const refused = await vote(user, 'human-too-late');

  assert.equal([...codeOf(refused), refused.headers.get('retry-after')], [429, 'rate_limited', '6']);
  assert.is(forms.length, 10);
});

test('the owner of a bot spares its voters', async () => {
  await addBot(world.sql, 'bot3');
  await world.sql`update bots set captcha_opt_out = true where bot_id = 'bot3'`;
  assert.is((await vote(takeUser(), undefined, 'bots/bot3')).status, 204);
  assert.equal(forms, []);
});

test('where only suspicious votes need a proof, others need none', async () => {
  const [honest, suspect] = [takeUser(), takeUser()];
  const seen: VoteRequest[] = [];
  current = create({ isSuspect: (vote) => seen.push(vote) > 0 && vote.user === suspect });
  assert.is((await vote(honest)).status, 204);
  assert.equal(codeOf(await vote(suspect)), [403, 'proof_required']);
  assert.is((await vote(suspect, 'human-suspect')).status, 204);
  assert.is((await vote(suspect, undefined, 'bots/bot2')).status, 204);
  const [{ kind, id, origin = '' } = {} as VoteRequest] = seen;
  assert.equal([kind, id, /^\d{51,61}$/.test(origin)], ['bot', 'bot1', true]);
});

test('no proof is asked for where no vote counts', async () => {
  await addBot(world.sql, 'pending', { type: 'pending' });
  await addBot(world.sql, 'shunned', { vote_banned: true });
  await addBot(world.sql, 'both', { type: 'pending', vote_banned: true });
  await addUser(world.sql, 'mute', { vote_banned: true });
  tokens.set('mute', await world.token('user', 'mute'));
  for (const proof of [undefined, 'human', 'junk']) {
    const user = takeUser();
    assert.equal(codeOf(await vote(user, proof, 'bots/pending')), [409, 'not_votable']);
    assert.equal(codeOf(await vote(user, proof, 'bots/shunned')), [403, 'entity_vote_banned']);
    assert.equal(codeOf(await vote(user, proof, 'bots/both')), [403, 'entity_vote_banned']);
    assert.equal(codeOf(await vote(user, proof, 'bots/unknown')), [404, 'not_found']);
    assert.equal(codeOf(await vote('mute', proof)), [403, 'vote_banned']);
  }
  assert.equal(forms, []);
});

test('who must wait, and who votes for what is not there, is not asked for a proof', async () => {
  const user = takeUser();
  assert.is((await vote(user, 'human-first')).status, 204);
  current = create();
  assert.equal(codeOf(await vote(user)), [429, 'vote_wait']);
  assert.equal(codeOf(await vote(user, undefined, 'bots/unknown')), [404, 'not_found']);
});

test('pages of any site may send a proof', async () => {
  const { headers } = await world.ask('OPTIONS', `/users/${users[0]}/bots/bot1/votes`);
  assert.match(headers.get('access-control-allow-headers') ?? '', /(^|, )X-Vote-Proof(,|$)/);
});

test.run();
