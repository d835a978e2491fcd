/**
 * The text with which the documentation page opens: from nothing to a first call in two minutes. In Markdown;
 * the page renders it, and /llms.txt begins with it. Constant text, no logic.
 *
 * Everything it says is in docs/behaviour and docs/bots in full.
 */

export const summary =
  'A public directory of bots, chat servers, teams and packs: bots post their statistics, users vote, ' +
  'everyone reads the totals.';

export const introduction = `${summary}

# First call

Read a bot; this needs no token. \`$URL\` is the address of this page without \`/docs\`:

\`\`\`sh
curl $URL/bots/@random
\`\`\`

Post your bot's numbers, with its token:

\`\`\`sh
curl -X POST $URL/bots/stats -H "Bot-Auth: $BOT_TOKEN" -d '{"servers":1234,"status":"online"}'
\`\`\`

Both work on this page, too: open an operation, press *Test Request*, then *Send*. Programs that handle
every answer, in TypeScript, Python and the shell, are on the pages for [bot authors](/docs/index.md); all
rules are in [behaviour](/docs/behaviour.md).

# Tokens

- A token acts for one user, bot, server or team. Send it as \`Authorization: Bot <token>\`, or in the
  header of its kind: \`User-Auth\`, \`Bot-Auth\`, \`Server-Auth\`, \`Team-Auth\`. Operations that need no
  token ignore it.
- Users get one by logging in. They create those of their bots with \`POST /bots/{id}/sessions\`, which
  shows the token once; with \`perm_limits\` it can do only what it must.
- \`POST /auth/test\` says whether a token is valid. A revoked token stops working everywhere within a
  second.

# Limits

- Stats: 1,000 posts a second per token. Refused requests are not counted, and nothing ever bans a client
  for its rate.
- Some other operations are limited per address. \`RateLimit\` in the reply says what is left; above it
  comes 429.
- Bodies: up to 1 MiB, 384 KiB for stats. Pages begin with 1; \`count\` says how many rows there are on all
  pages.
- The operator may set other limits.

# Errors

- Every error is \`{"message", "context"}\`. \`context.code\` is for programs and never changes; \`message\`
  is for people.
- 429 and 503 carry \`Retry-After\` in whole seconds: wait that long, then send the request again.
- Every 503 says in \`context.outcome\` whether it was \`not_applied\` or is \`unknown\`. Posts and votes
  may be sent again after both: they never count twice.
- Quote \`context.request_id\` when you ask the operator for help.

# Posting

- \`POST /bots/stats\` with what has changed: an absent field keeps its value, and 0 is a value. Every five
  minutes is enough for a full uptime; the answer comes when the post is on disk.
- A bot of several processes lets each of them post its own shards to \`POST /bots/stats/shards\`; the
  server adds them up, and restarts do not lower the totals.

# Votes

- Check a vote: \`GET /users/{uid}/bots/{id}/votes\`, without a token. \`has_voted\` is true while the user
  has to wait.
- A user votes with their own token: \`PUT /users/{uid}/bots/{id}/votes?upvote=true\`. Of any number of
  requests within one wait, exactly one counts.

# Webhooks

- \`POST /bots/{id}/webhooks\` with an https address: each vote is sent there, signed by [Standard
  Webhooks](https://www.standardwebhooks.com/), at least once, for days if the receiver is down.
- Verify the signature, answer 2xx, and take each \`webhook-id\` once. The test operation says what is
  wrong.

# Live

- \`GET /feed?targets=bot/{id}&channels=totals,votes\` is a stream of server-sent events, or a WebSocket:
  totals as they change, votes as they come. A client that reconnects with \`Last-Event-ID\` misses no vote.
- \`GET /bots/{id}/votes/log?after=<cursor>&wait=25\` answers as soon as a user votes, and misses nothing
  while your program is down. Neither needs a public address.
`;
