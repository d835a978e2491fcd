/**
 * The limit: uWebSockets.js and nothing else. Reads the whole body of a POST and answers a small JSON;
 * answers a GET with a body of the size given in BODY_BYTES (INDEX_BYTES for the index, BADGE_BYTES for
 * badges, LISTING_BYTES for the page of a bot, SEARCH_BYTES for the search); a PUT with 204. Clients of
 * `/feed` subscribe to the topic that their URL names; `PUT /rate/N` makes it publish N messages of
 * MESSAGE_BYTES a second, to TOPICS topics in turn.
 *
 * A program of its own; prints its address as the first line. It checks, counts and stores nothing, so no
 * server on this library can be faster.
 */
import uws from 'uWebSockets.js';

interface Follower {
  readonly topic: string;
}

const read = (name: string, usual: number): number => Number(process.env[name] ?? usual);
const createBody = (bytes: number): string =>
  JSON.stringify({ text: 'x'.repeat(Math.max(0, bytes - '{"text":""}'.length)) });
const recorded = JSON.stringify({ message: 'Stats recorded.', context: {} });
const json = 'application/json';
const message = 'x'.repeat(read('MESSAGE_BYTES', 200));
const topics = read('TOPICS', 1);
const tickMs = 50;
let [perSecond, owed, next] = [0, 0, 0];

const app = uws.App();
for (const [path, type, body] of [
  ['/bots/@index', json, createBody(read('INDEX_BYTES', 1_000))],
  ['/badges/*', 'image/svg+xml', 'x'.repeat(read('BADGE_BYTES', 1_300))],
  ['/search', json, createBody(read('SEARCH_BYTES', 1_000))],
  ['/:code', 'text/html; charset=utf-8', 'x'.repeat(read('LISTING_BYTES', 10_000))],
  ['/*', json, createBody(read('BODY_BYTES', 1_000))],
] as const)
  app.get(path, (response) => {
    response.writeHeader('Content-Type', type).end(body);
  });
app.put('/rate/*', (response, request) => {
  perSecond = Number(request.getUrl().slice('/rate/'.length));
  owed = 0;
  response.end();
});
app.put('/*', (response) => {
  response.writeStatus('204 No Content').endWithoutBody();
});
app.post('/*', (response) => {
  const chunks: Buffer[] = [];
  response.onAborted(() => {
    chunks.length = 0;
  });
  response.onData((chunk, last) => {
    chunks.push(Buffer.from(chunk.slice(0)));
    if (!last) return;
    Buffer.concat(chunks);
    response.writeHeader('Content-Type', json).end(recorded);
  });
});
app.ws<Follower>('/feed', {
  upgrade: (response, request, context) => {
    const topic = request.getQuery('targets') ?? '';
    response.upgrade<Follower>({ topic }, request.getHeader('sec-websocket-key'), '', '', context);
  },
  open: (socket) => {
    socket.subscribe(socket.getUserData().topic);
  },
});
const publish = (): void => {
  owed += (perSecond * tickMs) / 1_000;
  for (; owed >= 1; owed--) app.publish(`bot/${next++ % topics}`, message);
};
if (process.env.TOPICS !== undefined) setInterval(publish, tickMs);
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  console.log(`Address http://127.0.0.1:${uws.us_socket_local_port(socket as unknown as uws.us_socket)}`);
});

process.on('SIGTERM', () => {
  app.close();
  process.exit(0);
});
