/**
 * The limit: uWebSockets.js and nothing else. Reads the whole body of a POST and answers a small JSON;
 * answers a GET with a body of the size given in BODY_BYTES (INDEX_BYTES for the index, BADGE_BYTES for
 * badges, LISTING_BYTES for the page of a bot, SEARCH_BYTES for the search); a PUT with 204.
 *
 * A program of its own, started by the suite; prints its address as the first line. It checks, counts and
 * stores nothing, so no server on this library can be faster.
 */
import uws from 'uWebSockets.js';

const createBody = (bytes: number): string =>
  JSON.stringify({ text: 'x'.repeat(Math.max(0, bytes - '{"text":""}'.length)) });
const answer = createBody(Number(process.env.BODY_BYTES ?? '1000'));
const indexAnswer = createBody(Number(process.env.INDEX_BYTES ?? '1000'));
const listingPage = 'x'.repeat(Number(process.env.LISTING_BYTES ?? '10000'));
const searchAnswer = createBody(Number(process.env.SEARCH_BYTES ?? '1000'));
const badge = 'x'.repeat(Number(process.env.BADGE_BYTES ?? '1300'));
const recorded = JSON.stringify({ message: 'Stats recorded.', context: {} });

const app = uws.App();
app.get('/bots/@index', (response) => {
  response.writeHeader('Content-Type', 'application/json').end(indexAnswer);
});
app.get('/badges/*', (response) => {
  response.writeHeader('Content-Type', 'image/svg+xml').end(badge);
});
app.get('/search', (response) => {
  response.writeHeader('Content-Type', 'application/json').end(searchAnswer);
});
app.get('/:code', (response) => {
  response.writeHeader('Content-Type', 'text/html; charset=utf-8').end(listingPage);
});
app.get('/*', (response) => {
  response.writeHeader('Content-Type', 'application/json').end(answer);
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
    response.writeHeader('Content-Type', 'application/json').end(recorded);
  });
});
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  console.log(`Address http://127.0.0.1:${uws.us_socket_local_port(socket as unknown as uws.us_socket)}`);
});

process.on('SIGTERM', () => {
  app.close();
  process.exit(0);
});
