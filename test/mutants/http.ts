/**
 * Mutants of the HTTP side: checks of permissions and of size limits, each with a patch that removes it.
 *
 * Every one must be killed by a test that is quick. What a mutant is: mutant.ts. Called by patches.ts.
 */
import type { Mutant } from './mutant.ts';

const authorise = 'http/auth/authorise.ts';
const dispatchTest = 'test/http/request/dispatch.test.ts';
const serverTest = 'test/http/server/uws-server.test.ts';

export const httpMutants: readonly Mutant[] = [
  {
    name: 'a revoke does not reach the cache',
    file: 'http/handlers/sessions.ts',
    find: `  app.sessions.forget(sessionId);\n`,
    replace: '',
    killers: ['test/http/routes/sessions.test.ts'],
    why: 'a revoked token would work for a minute (I17)',
  },
  {
    name: 'a look-up from before a revoke is cached',
    file: 'http/auth/sessions.ts',
    find: `    if (epoch === state.epoch)\n`,
    replace: `    if (epoch <= state.epoch)\n`,
    killers: ['test/http/auth/sessions.test.ts'],
    why: 'a slow read would restore a revoked token (I17)',
  },
  {
    name: 'a session outlives its expiry in the cache',
    file: 'http/auth/sessions.ts',
    find: `if (isFresh && !isExpired(state, cached.record)) return cached.record;`,
    replace: `if (isFresh) return cached.record;`,
    killers: ['test/http/auth/sessions.test.ts'],
    why: 'an expired session would work for a minute',
  },
  {
    name: 'the kind that a header claims',
    file: authorise,
    find: `token.claimedKind !== null && token.claimedKind !== record.kind`,
    replace: `token.claimedKind === ''`,
    killers: [dispatchTest],
    why: 'a bot token sent as a user token would be taken',
  },
  {
    name: 'the token kinds that a route accepts',
    file: authorise,
    find: `  if (!kinds.includes(session.kind)) {`,
    replace: `  if (kinds.length > 99) {`,
    killers: [dispatchTest],
    why: 'a user token would post stats',
  },
  {
    name: 'the user in the path',
    file: authorise,
    find: `auth.kind === 'self' && rest.params[auth.user] !== session.id`,
    replace: `false`,
    killers: [dispatchTest, 'test/http/authorisation.test.ts'],
    why: 'any user could vote as any other',
  },
  {
    name: 'banned users',
    file: authorise,
    find: `  if (session.banned && !rest.bannedAllowed) throw`,
    replace: `  if (session.banned && kinds.length > 99) throw`,
    killers: [dispatchTest],
    why: 'a ban would change nothing',
  },
  {
    name: 'limits of a session',
    file: authorise,
    find: `    session.limits.length > 0 &&\n    !includesPermission(session.limits, auth.permission)`,
    replace: `    session.limits.length > 99`,
    killers: [dispatchTest],
    why: 'a token limited to one permission would have them all',
  },
  {
    name: 'permissions on the entity',
    file: authorise,
    find: `!includesPermission(access.permissions, auth.permission)`,
    replace: `access.permissions.length > 99`,
    killers: [dispatchTest],
    why: 'strangers could change a listing',
  },
  {
    name: 'the cap of a body, as declared',
    file: 'http/server/uws-server.ts',
    find: `    if (this.headers.contentLength > bytesMax) {`,
    replace: `    if (bytesMax < 0) {`,
    killers: [serverTest],
    why: 'a client could keep a connection busy with what is refused anyway (I15)',
  },
  {
    name: 'the cap of a body, as it comes',
    file: 'http/server/uws-server.ts',
    find: `    if (this.#bytes > this.#bytesMax) {`,
    replace: `    if (this.#bytes < 0) {`,
    killers: [serverTest],
    why: 'a chunked body could fill the memory (I15)',
  },
  {
    name: 'no deadline for handlers',
    file: 'http/request/deadlines.ts',
    find: `    expireHeads(working, nowMs - times.workingMs, 'working');\n`,
    replace: '',
    killers: [serverTest],
    why: 'a store that hangs would hold its clients for ever (I15)',
  },
  {
    name: 'rate limits',
    file: 'http/limits/gcra.ts',
    find: `  const allowed = nextMs - nowMs <= toleranceMs + 1e-6;`,
    replace: `  const allowed = nextMs > 0;`,
    killers: ['test/http/limits/gcra.test.ts'],
    why: 'a flood would pass',
  },
  {
    name: 'the judged addresses of a webhook',
    file: 'http/outbound/webhooks/send.ts',
    find: `    lookup: createPinnedLookup(vetted.addresses),\n`,
    replace: '',
    killers: ['test/http/outbound/webhooks/send.test.ts'],
    why: 'a name that changes after it was judged would lead inside',
  },
  {
    name: 'a redirect of a webhook is a failure',
    file: 'http/outbound/webhooks/request.ts',
    find: `status <= 299`,
    replace: `status <= 399`,
    killers: ['test/http/outbound/webhooks/send.test.ts'],
    why: 'a vote that arrived nowhere would count as delivered',
  },
  {
    name: 'the id in the signature of a webhook',
    file: 'http/outbound/webhooks/signature.ts',
    find: '{id}.$',
    replace: '{sentAtSeconds}.$',
    killers: ['test/http/outbound/webhooks/signature.test.ts'],
    why: 'a captured request could be repeated under another id',
  },
];
