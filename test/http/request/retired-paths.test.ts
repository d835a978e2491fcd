/**
 * The 404 of a path that clients of other directories request names the path that serves it here.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findSuccessor } from '../../../http/request/retired-paths.ts';
import { ask, openWorld } from '../world.ts';

const test = suite('retired paths');
const world = await openWorld();
test.after(() => world.close());

const expected: readonly (readonly [path: string, successor: string])[] = [
  ['/bots/all', 'GET /bots/@all'],
  ['/packs/all', 'GET /packs/@all'],
  ['/bot/123', 'GET /bots/123'],
  ['/api/v1/bot/123', 'GET /bots/123'],
  ['/bots/123/stats', 'POST /bots/stats, where the token names the bot'],
  ['/votes/123/456', 'GET /users/456/bots/123/votes'],
  ['/bots/123/check', 'GET /users/{user}/bots/123/votes'],
  ['/bots/123/votes', 'GET /bots/123/votes/user-list, and GET /bots/123/votes/log with times'],
  ['/api/bots/stats', 'POST /bots/stats'],
  ['/api/bots/123/stats', 'POST /bots/stats, where the token names the bot'],
  ['/api/v1/bots/123/stats', 'POST /bots/stats, where the token names the bot'],
  ['/api/bots/check', 'GET /users/{user}/bots/{bot}/votes'],
  ['/api/bots/votes', 'GET /bots/{bot}/votes/user-list, and GET /bots/{bot}/votes/log with times'],
  ['/api/v1/bots/123/upvotes', 'GET /bots/123/votes/log'],
  ['/api/v1/bots/123/commands', 'PATCH /bots/123/settings with the commands in `long`'],
  ['/api/bots', 'GET /bots/@all'],
  ['/api/v1/bots/all', 'GET /bots/@all'],
  ['/api/bots/123', 'GET /bots/123'],
  ['/api/users/456', 'GET /users/456/bots/{bot}/votes for votes, or read `user` of a bot'],
  ['/api/weekend', 'GET /users/{user}/bots/{bot}/votes and read `vote_info`'],
  ['/api/widget/owner/123.svg', 'GET /badges/bots/123/card.svg'],
  ['/user/456', 'GET /users/456/bots/{bot}/votes for votes, or read `user` of a bot'],
];

for (const [path, successor] of expected) {
  test(`${path} → 404 with the message "${successor}"; code and headers stay`, async () => {
    const answer = await ask(world, 'GET', path);
    const other = await ask(world, 'GET', '/nothing/like/this');

    assert.is(answer.status, 404);
    assert.is(answer.json.message, `There is no such path. Send ${successor} instead.`);
    const context = (answer.json as { context: Record<string, string> }).context;
    assert.equal(Object.keys(context), ['code', 'request_id']);
    assert.is(context.code, 'route_not_found');
    assert.equal([...answer.headers.keys()], [...other.headers.keys()]);
  });
}

test('paths of this directory have no successor, whatever their parameters', () => {
  for (const path of [
    '/',
    '/bots/@all',
    '/bots/123',
    '/bots/all/seo',
    '/users/1/bots/2/votes',
    '/bot',
    '/api/v1/bot/',
  ])
    assert.is(findSuccessor(path), null, path);
});

test('a parameter is repeated as it was sent', () => {
  assert.is(findSuccessor('/bot/a%2Fb$1$&'), 'GET /bots/a%2Fb$1$&');
});

test.run();
