/**
 * What clients may rely on where no schema can say it, for the sections that are beyond the contract. In
 * Markdown; part of the sections' descriptions. "(setting)": an operator may choose the value. Text only.
 */
export const sectionRules: Readonly<Record<string, string>> = {
  Badges: `
\`GET /badges/{target_type}/{target_id}/<metric>.svg\` is a picture of one number for a README or a web
page, \`<metric>.json\` the same for the endpoint badge of shields.io, \`card.svg\` a picture of 320 × 96
with the name, up to three numbers and a bot's status, and \`spark-<metric>.svg\` a line of 120 × 30 with
the last seven days of \`servers\`, \`users\`, \`shards\`, \`votes\`, or \`clicks\` per hour (gaps where
no sample ran). \`target_id\` is an id or a vanity code, of a pack its url.

- bot: \`votes\`, \`servers\`, \`users\`, \`shards\`, \`uptime\`, \`status\`, \`clicks\`, \`rank\`.
- server: \`votes\`, \`users\` (its members), \`clicks\`, \`rank\`.
- team, pack: \`votes\`.

- \`compact=true\` never rounds up. \`uptime\` is rounded down to a tenth of a percent. \`rank\` is the
  position on the leaderboard \`votes\`: \`#12\`, \`~#4,210\` where it may be off by 0.1 %, or
  \`unranked\`.
- The numbers are at most a second old. A badge counts no click.
- Image proxies keep errors for long, so every answer about a well-formed file name is 200 and a picture
  (or shields' JSON with \`isError\`): "unknown" for what does not exist, is not listed or has no such
  metric (kept for 60 seconds), "invalid style" and the like for an option that is not allowed (60
  seconds); while a store is away, or above the rate limit, the last badge that the node knows for this
  URL, else "unavailable" (30 seconds). \`X-Rollcall-Error\` has the code. Only a file name that no badge
  can have is 404 \`route_not_found\`, and a node that shuts down answers 503, in JSON.
- A badge is \`public, max-age=300\` (setting) with an \`ETag\`; HEAD and \`If-None-Match\` work.`,
  Leaderboards: `
\`GET /leaderboards/{kind}/{board}?page=\` lists the first 1,000 bots or servers of a board, 25 on a page;
\`GET /{target_type}/{target_id}/rank\` has the positions of one listing on all boards. Scores beyond 2^53
are rounded to 53 bits; the listing itself shows every digit.

- \`votes\`: upvotes minus downvotes since the last monthly reset; above 0.
- \`votes-last-month\`: the same of the calendar month before the last reset; above 0.
- \`votes-ever\`: the same of all months; above 0.
- \`unique-clicks-week\`: unique clicks since the day seven days before; above 0.
- \`growth-week\` (bots): servers added since the day seven days before; \`ratio\` is their share of the
  servers then; at least 100 servers then, and 5 % more by now.
- \`trending\`: points for events, which count half after 12 hours, a quarter after 24 …: a unique click
  1, an upvote 5, a downvote −2; at least 0.01.
- \`newcomers\`: as \`trending\`; listed for less than 30 days.
- \`uptime\` (bots): percent of the checks that were passed, up to the time of the edition; at least 1,000
  checks.

- A board is made every 10 minutes, \`votes\` every 60 seconds (setting), from the numbers in the
  database; \`updated_at\` says when. Between two editions nothing moves, so the pages of one edition fit
  together. Before the first edition \`results\` is empty and \`updated_at\` is \`null\`.
- \`position\` counts from 1 without holes or doubles. Equal scores: who was ahead in the edition before
  stays ahead, then the older listing. \`change\` is the number of places gained since the last edition of
  the day before (UTC), \`null\` for a listing that was not among the first 1,000 then.
- Only listed bots and servers are on a board. One that is deleted or no longer listed leaves the page at
  once; the others keep their positions until the next edition, so a page may have fewer than 25 results.
- A rank is \`{position, of, exact}\`, or \`null\` where the listing does not qualify, is too new for the
  edition, or the board has none yet. \`of\` is the number of listings on the board. Among the first 1,000
  the position is \`exact\`; further down it is right within 0.1 % of \`of\`, from scores at most ten
  seconds old. What is not listed is 404.
- "The day seven days before" begins with the first edition of that UTC day that found a change.
  \`trending\` sees an event with the next edition, and weighs what happened within one interval together:
  downvotes never make it negative. Clicks and votes before a listing's first edition count nothing there,
  and neither do imported ones. Posted numbers count only on \`growth-week\`.
- Votes that an operator voided or that were redeemed before the month's end count on no board.
  \`votes-last-month\` changes with the first edition that is made ten minutes or more after a reset;
  votes that reach the database later than that, or are imported then, are left out, on \`votes-ever\`,
  too.
- Without SQL a node shows the pages and ranks that it showed before, for up to an hour.`,
  Search: `
\`GET /search?q=&kind=&tags=&sort=&page=\` finds listed bots, public servers, teams and packs, 25 per
page; where HTML is strictly preferred it is a page.

- \`q\` has up to 8 words. The name, user name, short text or tags must contain each of them, in any
  letter case. Words of three and more characters are found anywhere, shorter ones at the start of a word,
  in scripts without blanks anywhere (\`音楽\`). Compatible forms of a letter are one, and so are Latin,
  Greek and Cyrillic letters with marks and without (\`Pokemon\`), Arabic and Hebrew words with vowel
  signs and without, and words with signs that are not seen (joiners). \`tags\` are up to 5, separated by
  commas; a listing must have each. A comma of a tag, and a blank at its ends, has a backslash before it:
  \`\\,\`.
- Where nothing has all words, one of them may have one wrong letter: one more, less or another, or two
  neighbours that changed places, in words of five letters and more, not in digits. Then listings with the
  most frequent word that is so near are found, and the reply says so: \`instead\` is \`{"word":
  "lantren", "shown": "lantern"}\`, else \`null\`; the page says *Nothing has exactly lantren; shown:
  lantern*. Such a word is looked for among 100 listings.
- \`sort\` is \`votes\` (if absent), \`clicks\`, \`growth\` (the board *growth-week*, then votes), \`new\`
  or \`name\`. Results are as fresh as lists.
- A search looks at a bounded number of listings: at the first 1,000 of the order for each page up to the
  tenth, else at 2,000 that have the words, or of all if none is given. \`count_is\` is \`exact\` where
  \`count\` is all, as on the last page, and \`at_least\` where another page follows, where more than
  2,000 have the words, and where words have nothing to look up (\`%\`, \`a-b\`).
- In a Postgres whose locale knows no letters outside ASCII (\`LC_CTYPE\` \`C\`), such letters are found
  only where a listing has them in lower case; sorting by name is by code points everywhere.`,
  Stats: `
### History

\`GET /{target_type}/{target_id}/history\` has the numbers of a bot, server, team or pack over time. The
server samples all listings every five minutes (setting). Samples are kept for two days, hours for a month
(settings), days for ever.

- A point is the value at its time, as the listing's page showed it then, to about two seconds. If the
  server was down at that time and is back before the next point, the point has the value from when it
  came back. Days end at midnight UTC. Hours and days have the value at their end, and no lowest or
  highest. \`votes\` are upvotes minus downvotes since the last reset; \`votes_logged\` are all votes ever
  numbered. A value above 9223372036854775807 is shown as that.
- \`null\` says that there is no value: no sample ran at that time (in that hour, on that day), it has
  expired or is yet to come, or the listing was not there. Nothing is interpolated. An hour or day without
  a sample of its end has the last value within it.
- Times are whole multiples of the step, in UTC. More than 1,000 points are 400 \`range_too_long\`;
  \`context.step\` names the step that fits, and is empty when none does.
- \`change=true\` shows \`clicks\`, \`unique_clicks\`, \`invite_clicks\` and \`votes_logged\`, which never
  fall, as changes since the point before that has a value. So they add up to the whole change, also over
  a hole.
- CSV has lines as RFC 4180: \`time\` and one column per metric, with empty cells for \`null\`.
- A reply is \`public\` with the seconds until the next sample as \`max-age\` (300 at most), and has an
  \`ETag\`. Without SQL a node shows the replies that it showed since the last sample.
- The history belongs to the listing: when it is deleted, the history goes within some minutes, and an id
  that is listed again begins without one.

\`GET /{target_type}/{target_id}/votes/months\` lists the votes by month, the newest first: votes cast up
and down, different voters, how many of the votes were redeemed or voided by an operator since, and the
rank among listings of the same kind by upvotes minus downvotes without voided votes (equal numbers have
equal ranks). A month appears soon after 00:20 UTC on the 1st, and is counted once more a day later for
votes that were late. Resets change nothing in it.`,
  Live: `
\`GET /feed?targets=bot/123,server/9&channels=totals,votes\` follows up to 100 listed entities over one
connection that stays open. Anybody may, from any page. A plain request gets server-sent events
(\`EventSource\` in browsers); one with \`Upgrade: websocket\` gets a WebSocket with the same messages as
\`{"event", "data"}\`. The protocol's name is \`rollcall.v1\`; it is confirmed where it is offered. What
is wrong with a request is an ordinary error before the stream or the upgrade; an entity that is unknown
or not listed is 404. There is no target for the whole directory, no message about the shards of a bot,
and nothing that needs a token. [Events](/docs/reference/events) has all messages and their fields.

- *Totals are state.* A message carries all numbers, so a client that misses one is right again with the
  next. There is at most one per target in 250 ms (setting), however often it changes, and a client that
  reads slowly gets the newest. Within half a second of a change on the same node, and within a second of
  one on another, a client that reads has what every reader sees; the end of \`online\` by age follows
  within six seconds. \`generation\` and \`version\` are integers that tell which of two messages is
  newer: the one with the larger \`generation\`, of equal ones that with the larger \`version\`. They
  never go back within a connection without a \`reset\`; they stay equal when only \`status\` has aged.
- *Votes are events.* Each number comes once, in order, or in a \`gap\`: after numbers 1 to 7 the next is
  8, or a gap that begins with 8. Votes come when they are in SQL, usually within a tenth of a second on
  the node that flushes them; while SQL is away they come late, and totals go on. A client that is more
  than 1,000 votes behind gets a gap. With \`VOTE_LOG=owner\` (setting) the channel \`votes\` is 403.
- *Resuming*, on any node: an event stream has an \`id\` in its first message and in each one about a
  vote, which \`EventSource\` sends back as \`Last-Event-ID\`; others may send it as \`?last_event_id=\`,
  or as \`?lastEventId=\`, which wins. The targets must then be the same, in the same order; the channels
  may differ, and votes begin with the next one if there were none. Those that are gone meanwhile get
  \`gone\` once more, and the others go on; when none is left it is 404. A WebSocket sends \`after\` with
  a cursor per target: that of the last vote or gap it has, or one of the vote log. Without either, votes
  begin with the next one. Do not build or compare ids or cursors.
- *Messages of a WebSocket* are text without compression, at most 16 KiB each. A second subscription of a
  target replaces the first, and \`unsubscribe\` has no answer. A subscription that cannot be is an
  \`error\`, and changes nothing; it ends with its first unknown entity.
- *In 10 seconds* a WebSocket may send 20 messages, pings and pongs together, and name 500 entities; an
  address may send ten and name 100 for each connection that it may have, those in the URL too, and twice
  as many at once. Above that WebSockets close with 1008, and new connections are 429. Messages of one
  address are handled one after the other. An upgrade that is refused with 429 or 503 gets its answer
  after a second, so that a client that connects again at once costs others little.
- *An unknown entity* that a request or message names counts for its address as 1,000 entities more, or as
  half of what it may name in 10 seconds if that is less; so does each close with 1008. With 20
  connections that is four at once and one per 5 seconds after that. An address with more waits, at most
  those 5 seconds: new connections are 429 without a look-up, and subscriptions close with 1008. What is
  open already goes on.
- *A WebSocket closes* with 1000 (all is said), 1008 (too many messages or entities), 1009 (a message
  above 16 KiB), 1012 (the node restarts), 1013 (the node is full), 4400 (a message that is none of
  these); frames that break the protocol, and messages above 64 KiB, cut it without a code (1006). Only
  version 13 is spoken: others are 426. It must answer pings: after 60 seconds of silence it is closed. So
  is any connection whose client [does not read](/docs/behaviour/requests#connections).
- A node takes 20,000 connections, 20 per client address (settings), and 200,000 subscriptions; above that
  503 \`feed_full\`, which says in \`Retry-After\` when to try again. A node that stops sends \`bye\` and
  ends its connections; clients come back after \`reconnect_after_ms\`, which spreads them over five
  seconds. \`EventSource\` does so by itself, unless it gets an answer other than 200 then, as from a
  proxy that finds no node: that ends it.`,
  Webhooks: `
A webhook sends each accepted vote of a bot, server or team, and other events if it wants them, to an
https address of its owner. [How to receive them](/docs/bots/webhooks). A team's webhook sends votes for
the team; with \`"scope":"owned"\` also the events of all bots and servers that the team owns when they
happen: \`target\` says which one.

- An entity has at most 5 webhooks (setting). The address must be https, on port 443, and lead to the
  public internet, unless the operator allows more (\`WEBHOOK_ADDRESSES\`); it is judged again whenever
  something is sent. Redirects are not followed. Owners with \`view_webhooks\` see the address; the
  address of a \`discord\` webhook lets anyone who has it write to the channel.
- After \`POST …/secret\` the former secret signs, too, for 24 hours; \`Authorization\` (\`topgg\`) has
  the new one only. Another \`url\` or \`format\` needs a \`secret\` in the same \`PATCH\` (400 at
  \`/secret\`), which replaces the former one at once, so no edit sends the present one to a new receiver.
  Requests are signed by Standard Webhooks 1.0.0: \`webhook-id\`, \`webhook-timestamp\`,
  \`webhook-signature\`.
- \`format\`: \`standard\` is the event as JSON; \`topgg\` is what receivers of top.gg (v0) expect, with
  \`authorization\` (dropped when \`url\` or \`format\` change) or else the secret in \`Authorization\`;
  \`topgg_v1\` is what its present receivers expect, with the header \`x-topgg-signature\` under the
  newest secret. Both are for bots and servers, without downvotes. \`discord\` is a message for a channel
  webhook.

### Events

- \`vote.created\` is one request to vote: \`weight\` and \`vote_ids\` say for how many votes it counted.
  \`number\` is the position of the first one in the vote log. \`votes\` is the total when the vote was
  written to the database.
- \`vote.voided\`, for webhooks that name it in \`events\`, is one decision about past votes of the
  listing: \`reason\` is \`operator\`, \`redeemed\` or \`monthly_reset\`, \`upvotes\` and \`downvotes\`
  say how many votes became void, \`votes\` is the total after it. \`vote\` has the vote when the operator
  voided a single one, else it is \`null\`; \`before\` is the time of a reset: all votes cast before it
  are void, also those that arrive later. \`number\` is the highest one of these votes in the vote log,
  where each says \`void\`. The formats of top.gg cannot express it (400); \`up_only\` leaves out
  decisions about downvotes alone. The event is written with the decision and sent once per decision. It
  does not wait for \`vote.created\` of that vote, so it can arrive earlier.
- Votes that an operator voids by a query are one \`vote.voided\` per listing and page of at most 500,
  \`vote\` \`null\`. When it is undone, each page is one \`vote.restored\`, for webhooks that name it,
  with the same fields: how many votes count again, and the total after it. Which votes they are is in the
  vote log.
- In the formats \`standard\` and \`discord\` also \`vote.ready\`, when the wait of a \`user\` who has set
  a reminder is over; \`listing.updated\`, when the profile was edited, with the names of the \`fields\`;
  \`webhook.disabled\`, when the server has disabled another webhook of the listing. Their \`number\` in
  the list of deliveries is \`null\`. Stale shards are no event. Only \`vote.created\` is replayed.

### Delivery

- Each vote that is written while a webhook is enabled is sent at least once, always with the same
  \`webhook-id\`: take each id once. Repeats after a failure have the same body; one after a crash of the
  server, and a replay, show users and names as they are then. Votes leave in the order of the vote log,
  up to eight at a time: in the bench half of them within 0.07 s of the vote's acknowledgement and 99 %
  within 0.22 s.
- Only 2xx is a success. A failed delivery is repeated after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20
  h and 24 h (each ± 20 %), later if \`Retry-After\` (at most 24 h) says so, and then *expires*. After
  three failures in a row (requests that were under way together count as one) the whole webhook waits by
  this schedule, 5 s first, and only its oldest delivery is tried; the first success sends the others, for
  a minute at most 20 a second. A receiver that fails for a few seconds, nodes that die and a database
  that is away for a few seconds delay the next vote by 15 s at most; what a dying node was sending may
  wait longer. At most 10,000 deliveries of one webhook wait; the oldest beyond expire.
- A webhook is disabled by 410 (\`discord\`: also 404), by an address that is refused twice, or when all
  attempts of 5 days (setting), without the time in which the server sent nothing, have failed: see
  \`disabled_reason\`; no message goes out. Nothing is written for it from then on; the vote log has the
  votes. \`PATCH {"enabled":true}\`, or another \`url\` of an enabled one, sends what waits at once; with
  another \`format\` it is sent in that.
- When a bot or a server changes teams, its webhooks are disabled as \`transferred\`: votes from before
  are sent, later ones are not. The new owner sees of their address only the host, and enables one with
  another \`url\`, or deletes it.
- \`POST …/test\` changes nothing; for a disabled webhook it is 409 \`webhook_disabled\`. \`POST
  …/replay\` sends also events that were never sent, with the scope \`owned\` by \`since\` and \`until\`
  alone, of all that the team owns now. Its result changes only the delivery, not the health of the
  webhook. \`queued\` leaves out events that an earlier replay has queued and that are not sent yet.
- The list of webhooks shows of each its \`last_attempt\`, how many deliveries wait (\`pending\`), and
  \`next_attempt_at\`; deliveries are kept with up to 16 attempts each, for 30 days (setting). Within a
  second of deleting or disabling a webhook, or deleting its entity, nothing more is sent; requests that
  have begun end by themselves.`,
};
