/**
 * Bare publish: a uWebSockets.js server whose clients subscribe to the topic that their URL names, and which
 * publishes messages of BYTES bytes at a rate set by `PUT /rate/N`, to TOPICS topics in turn. It answers a
 * POST at once, so that the time of a POST shows how long publishing delays other requests.
 *
 * A program of its own, started by the feed command; prints its address as the first line.
 */
import uws from 'uWebSockets.js';

interface Data {
  readonly topic: string;
}

const message = 'x'.repeat(Number(process.env.BYTES ?? '200'));
const topics = Number(process.env.TOPICS ?? '1');
const recorded = JSON.stringify({ message: 'Stats recorded.', context: {} });
const tickMs = 50;
let perSecond = 0;
let owed = 0;
let next = 0;

const app = uws.App();
app.ws<Data>('/feed', {
  upgrade: (response, request, context) => {
    const topic = request.getQuery('targets') ?? '';
    const key = request.getHeader('sec-websocket-key');
    response.upgrade<Data>({ topic }, key, '', '', context);
  },
  open: (socket) => {
    socket.subscribe(socket.getUserData().topic);
  },
});
app.post('/*', (response) => {
  response.onAborted(() => {});
  response.onData((_chunk, last) => {
    if (last) response.writeHeader('Content-Type', 'application/json').end(recorded);
  });
});
app.put('/rate/*', (response, request) => {
  perSecond = Number(request.getUrl().slice('/rate/'.length));
  owed = 0;
  response.end();
});
setInterval(() => {
  owed += (perSecond * tickMs) / 1_000;
  for (; owed >= 1; owed--) {
    app.publish(`bot/${next % topics}`, message);
    next += 1;
  }
}, tickMs);
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  console.log(`Address http://127.0.0.1:${uws.us_socket_local_port(socket as unknown as uws.us_socket)}`);
});

process.on('SIGTERM', () => {
  app.close();
  process.exit(0);
});
