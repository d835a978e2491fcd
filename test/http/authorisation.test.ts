/**
 * Every operation × every kind of token × {own, of another user, of a member without the permission, none,
 * false, expired, revoked, limited, banned}, sent to the real server, against the table in
 * authorisation/expected.ts: the status, the code, and the permission that is missing.
 *
 * "Let through" means that neither the caller nor the request was refused: no 400, 401 or 403. Each request
 * that may be let through has people of its own, so that it can change their data.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isPermission } from '../../engine/rules/permissions.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import { routes } from '../../http/api/table.ts';
import { applyVoteLogSetting } from '../../http/api/vote-log.ts';
import type { AnyRoute } from '../../http/route.ts';
import { pluck } from '../support/pluck.ts';
import { type Answer, openWorld } from './api/world.ts';
import { type Expectation, expected } from './authorisation/expected.ts';
import { addPeople, newPeople, type People } from './authorisation/people.ts';
import { sampleOf } from './authorisation/requests.ts';

const test = suite('authorisation');
const kinds: readonly TokenKind[] = ['user', 'bot', 'server', 'team'];
const unrelated = 'manage_assets';

let world = await openWorld();
let strangers = await addPeople(world.sql, newPeople());
test.after(async () => {
  await world.close();
});

const expectationOf = (route: AnyRoute): Expectation => {
  const found = expected[route.name];
  assert.ok(found, `${route.name} has no entry in authorisation/expected.ts`);
  return found as Expectation;
};

const idOf = (people: People, kind: TokenKind): string => people[kind];

interface RequestOptions {
  readonly kind: TokenKind;
  /** The people whose listings the request is about. */
  readonly about: People;
  readonly token?: string;
}

let requests = 0;

/** Sends from a new address each time, so that no rate limit by address applies. */
const send = (route: AnyRoute, { kind, about, token }: RequestOptions): Promise<Answer> => {
  requests += 1;
  const { path, body } = sampleOf(route, about, kind);
  return world.ask(route.method, path, {
    headers: { 'x-forwarded-for': `9.9.${requests >> 8}.${requests & 255}` },
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  });
};

const codeOf = (answer: Answer): string => answer.json?.context?.code ?? String(answer.status);
const isLetThrough = ({ status }: Answer): boolean => ![400, 401, 403].includes(status) && status !== 500;

const assertThrough = (answer: Answer, words: string): void => {
  assert.ok(isLetThrough(answer), `${words}: ${answer.status} ${answer.text}`);
};
/** `refusal` is the missing permission, or the code where none is named. */
const assertForbidden = (answer: Answer, refusal: string, words: string): void => {
  const { permission, code } = answer.json?.context ?? {};
  assert.equal([answer.status, permission ?? code], [403, refusal], `${words}: ${answer.text}`);
};

/** Own entity, unlimited session: let through, or refused because of the kind of token. */
const tryOwn = async (route: AnyRoute, { kinds: taken }: Expectation): Promise<void> => {
  for (const kind of kinds) {
    const people = await addPeople(world.sql, newPeople());
    const token = await world.token(kind, idOf(people, kind));

    const answer = await send(route, { kind, about: people, token });

    if (taken.includes(kind)) assertThrough(answer, `own ${kind}`);
    else assert.is(codeOf(answer), 'token_kind_unsupported', `${kind}: ${answer.text}`);
  }
};

/** Only the user named in the path may do it. */
const isOfUser = (route: AnyRoute, needs: string): boolean =>
  needs === 'unlimited' || route.path.includes('{uid}');

const tryOther = async (route: AnyRoute, { kinds: taken, target, needs }: Expectation): Promise<void> => {
  if (target === 'none') return;
  for (const kind of taken) {
    const people = await addPeople(world.sql, newPeople());
    const token = await world.token(kind, idOf(people, kind));

    const answer = await send(route, { kind, about: strangers, token });

    const refusal = isOfUser(route, needs) ? 'user_mismatch' : needs;
    assertForbidden(answer, refusal, `entity of another user, by ${kind}`);
  }
};

/** Members may change their own membership, see members.test.ts. */
const ownMembership = ['editTeamMember', 'removeTeamMember'];

const tryMember = async (route: AnyRoute, { kinds: taken, target, needs }: Expectation): Promise<void> => {
  if (target === 'none' || isOfUser(route, needs) || !taken.includes('user')) return;
  if (ownMembership.includes(route.name)) return;
  const people = await addPeople(world.sql, newPeople());
  const token = await world.token('user', people.member);

  const answer = await send(route, { kind: 'user', about: people, token });

  assertForbidden(answer, needs, 'member without the permission');
};

/** A public operation ignores every token. */
const tryPublic = async (route: AnyRoute): Promise<void> => {
  const own = await world.token('bot', strangers.bot);
  for (const token of [undefined, own, 'rc_user_1_false']) {
    const answer = await send(route, {
      kind: 'user',
      about: strangers,
      ...(token === undefined ? {} : { token }),
    });
    assertThrough(answer, `public, token ${token}`);
  }
};

const tryDead = async (route: AnyRoute, { kinds: taken }: Expectation): Promise<void> => {
  const kind = taken[0] as TokenKind;
  const id = idOf(strangers, kind);
  const expired = await world.token(kind, id);
  await world.sql`update sessions set expiry = '2020-01-01' where target_id = ${id}`;
  const revoked = await world.token(kind, id);
  await world.sql`delete from sessions where target_id = ${id} and expiry > '2020-01-01'`;

  const tried = [
    { code: 'token_missing' },
    { token: `${expired.slice(0, -4)}AAAA`, code: 'token_invalid' },
    { token: expired, code: 'token_invalid' },
    { token: revoked, code: 'token_invalid' },
  ];
  for (const { token, code } of tried) {
    const answer = await send(route, { kind, about: strangers, ...(token === undefined ? {} : { token }) });
    assert.is(codeOf(answer), code);
    assert.is(answer.headers.get('x-session-invalid'), token === undefined ? null : 'true');
  }
};

const tryLimited = async (route: AnyRoute, { kinds: taken, needs }: Expectation): Promise<void> => {
  for (const kind of taken) {
    const people = await addPeople(world.sql, newPeople());
    const wrong = await world.token(kind, idOf(people, kind), { permLimits: [unrelated] });

    const answer = await send(route, { kind, about: people, token: wrong });

    if (needs === 'nothing') assertThrough(answer, `limited ${kind}`);
    else
      assertForbidden(
        answer,
        needs === 'unlimited' ? 'forbidden' : needs,
        `limited to something else, ${kind}`,
      );
    if (!isPermission(needs) || needs === 'owner' || route.name === 'createBot') continue;
    const right = await world.token(kind, idOf(people, kind), {
      permLimits: [needs, 'add_bots', 'view_sessions'],
    });
    assertThrough(await send(route, { kind, about: people, token: right }), `limited to ${needs}, ${kind}`);
  }
};

const tryBanned = async (route: AnyRoute, { kinds: taken, banned }: Expectation): Promise<void> => {
  for (const kind of ['user', 'bot'] as const) {
    if (!taken.includes(kind)) continue;
    const people = await addPeople(world.sql, newPeople());
    await world.sql`update users set banned = true where id = ${people.user}`;
    await world.sql`
      update bots set owner_id = ${people.user}, team_id = null where bot_id = ${people.bot}`;
    const token = await world.token(kind, idOf(people, kind));

    const answer = await send(route, { kind, about: people, token });

    if (banned === 'may') assertThrough(answer, `banned ${kind}`);
    else assertForbidden(answer, 'banned', `banned ${kind}`);
  }
};

test('the table of expectations and the table of routes have the same operations', () => {
  assert.equal(Object.keys(expected).sort(), routes.map((route) => route.name).sort());
});

const tryAll = async (route: AnyRoute, expectation: Expectation): Promise<void> => {
  await tryOwn(route, expectation);
  await tryOther(route, expectation);
  await tryMember(route, expectation);
  await tryDead(route, expectation);
  await tryLimited(route, expectation);
  await tryBanned(route, expectation);
};

for (const route of routes) {
  test(`${route.name}: own, other, member, none, false, expired, revoked, limited, banned`, async () => {
    const expectation = expectationOf(route);
    if (expectation.kinds.length === 0) {
      await tryPublic(route);
      return;
    }
    await tryAll(route, expectation);
  });
}

test('what shows votes with VOTE_LOG=owner: the tokens of its owners read it, and no other', async () => {
  const others = { world, strangers };
  const closed = applyVoteLogSetting(routes, 'owner');
  world = await openWorld({ routes: closed });
  try {
    strangers = await addPeople(world.sql, newPeople());
    const changed = closed.filter((route) => !routes.includes(route));
    assert.equal(pluck(changed, 'name'), ['readVoteLog', 'listTopVoters', 'listRefs']);
    for (const route of changed) await tryAll(route, { kinds, needs: 'view_webhook_logs' });
  } finally {
    await world.close();
    ({ world, strangers } = others);
  }
});

test.run();
