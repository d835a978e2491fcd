/**
 * 500 first previews at once, of listings with names of all scripts and hostile ones: each page and card is
 * answered in the end, and prints how long the node's event loop waited, beside an idle loop of the same
 * process: on a busy machine the system makes both wait. The fetchers run in a thread of their own.
 * Time limit: 300 s.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openWorld } from '../../http/api/world.ts';
import { plainSettings } from '../../http/plain-site.ts';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';

const test = suite('first previews');
const world = await openWorld({ site: { settings: plainSettings, readUrl: () => 'https://list.example' } });
const { sql } = world;
test.after(() => world.close());

const listings = 500;
const rounds = Number(process.env.ROUNDS ?? 1);
const names = [
  ...[
    'Lighthouse',
    'Łódź Zoë',
    'Ελληνικά',
    'Привет',
    'שָׁלוֹם',
    'مُوسِيقَى',
    'हिन्दी',
    'บอทเพลง',
    '日本音楽ボット',
    '한국어',
  ],
  ...['👩‍💻🎉', '\u202Eevil\u202C', '\u200D'.repeat(1_000), `Z${'\u0337'.repeat(1_000)}`, 'W'.repeat(2_000)],
  ...[
    '<svg onload="x">&amp;',
    '\u0301',
    ' \u00A0 ',
    '𝔉𝔯𝔞𝔨𝔱𝔲𝔯',
    'ﷺ'.repeat(300),
    'e\u0301'.repeat(500),
    '\u{10FFFD}',
  ],
];

/** Runs in a thread: loads a page or picture of each, again while it is refused as `overloaded`. */
const fetchers = `
  const { parentPort, workerData: { port, paths } } = require('node:worker_threads');
  const agent = 'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)';
  const load = async (path, index) => {
    const visitor = '10.0.' + (index >> 8) + '.' + (index & 255);
    const headers = { 'User-Agent': agent, Accept: '*/*', 'X-Forwarded-For': visitor };
    for (let refused = 0; ; refused++) {
      const reply = await fetch('http://127.0.0.1:' + port + path, { headers });
      const text = Buffer.from(await reply.arrayBuffer()).toString('latin1');
      if (reply.status !== 503 || reply.headers.get('retry-after') === null)
        return { status: reply.status, refused, text };
      await new Promise((resolve) => setTimeout(resolve, reply.headers.get('retry-after') * 1_000));
    }
  };
  Promise.all(paths.map(load)).then((all) => parentPort.postMessage(all));
`;
/** Runs in a thread that does nothing: how long the system lets a loop wait. */
const idler = `
  const { parentPort } = require('node:worker_threads');
  const delay = require('node:perf_hooks').monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  parentPort.once('message', () => parentPort.postMessage(delay.max / 1e6));
`;

interface Loaded {
  readonly status: number;
  readonly refused: number;
  readonly text: string;
}

const receive = <Message>(thread: Worker): Promise<Message> =>
  new Promise((resolve, reject) => {
    thread.once('message', resolve).once('error', reject);
  });
const loadAll = (paths: readonly string[]) =>
  receive<readonly Loaded[]>(new Worker(fetchers, { eval: true, workerData: { port: world.port, paths } }));

/** Measures how long the loop was held at most, beyond what the system let another loop wait. */
const measureHeld = async <Result>(use: () => Promise<Result>) => {
  const idle = new Worker(idler, { eval: true });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const result = await use();
  delay.disable();
  idle.postMessage('');
  const ownMs = delay.max / 1e6;
  return { result, ownMs, heldMs: ownMs - (await receive<number>(idle)) };
};

test.before(async () => {
  await addUser(sql, 'robin');
  await sql.begin(async (transaction) => {
    for (let number = 0; number < listings * rounds; number++) {
      const id = `bot${number}`;
      await addUser(transaction as never, id, { username: id });
      const name = `${names[number % names.length]} ${number}`;
      await transaction`update users set display_name = ${name}, avatar = '' where id = ${id}`;
      await addBot(transaction as never, id, { vanity: id, short: `${name} in short.` });
    }
  });
});

test(`${listings} first previews at once are answered, and say how long the event loop waited`, async () => {
  for (let round = 0; round < rounds; round++) {
    const paths = Array.from({ length: listings }, (_, index) => `/@bot${round * listings + index}`);
    const pages = await loadAll(paths);
    const cards = pages.map(
      ({ text }) => /og:image" content="https:..list.example([^"]*)"/.exec(text)?.[1] ?? '',
    );
    const begunMs = performance.now();
    const { result, ownMs, heldMs } = await measureHeld(() => loadAll(cards));
    const refused = result.reduce((sum, one) => sum + one.refused, 0);
    const tookMs = Math.round(performance.now() - begunMs);
    const waited = `${ownMs.toFixed(1)} ms, ${heldMs.toFixed(1)} more than an idle one`;
    console.log(
      `figures: ${listings} first cards | ${tookMs} ms | the loop waited at most ${waited} | ` +
        `refused, then there: ${refused}`,
    );
    assert.equal([...new Set(pages.map(({ status }) => status))], [200]);
    assert.equal(
      [...new Set(result.map(({ status, text }) => `${status} ${text.slice(1, 4)}`))],
      ['200 PNG'],
    );
  }
});

test.run();
