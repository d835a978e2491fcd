/**
 * `ops top`: one screen without a terminal, JSON on request, a screen that is drawn again on a terminal until
 * q, and what it says when it cannot.
 */
import { PassThrough } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatDuration } from '../../../http/operator/page/format.ts';
import type { LiveFrame } from '../../../http/telemetry/node-status.ts';
import { runTop } from '../../../ops/cli/top.ts';
import { formatScreen } from '../../../ops/cli/top-screen.ts';
import { readConfig } from '../../../ops/config/config.ts';
import { until } from '../../support/until.ts';
import { openWorld, type World } from '../../world.ts';
import { runOnStreams } from './streams.ts';

const test = suite('ops top');
let world: World;
test.before(async () => {
  world = await openWorld();
});
test.after(() => world.close());

const toConfig = (settings: Record<string, string> = {}) =>
  readConfig({
    DATA_DIR: world.dataDir,
    PORT: '2',
    ADMIN_PORT: new URL(world.adminUrl).port,
    ...settings,
  });
const readJson = async (): Promise<LiveFrame> => {
  const ran = await runOnStreams((streams) => runTop(toConfig(), streams, { json: true }));
  assert.is(ran.code, 0, ran.err);
  return JSON.parse(ran.out) as LiveFrame;
};

test('without a terminal it prints one screen with what clients just did', async () => {
  const answer = await fetch(`${world.url}/bots/stats`, {
    method: 'POST',
    headers: { 'bot-auth': world.demo.bot.token },
    body: '{"servers":7}',
  });
  assert.is(answer.status, 200);
  await until('the sampler saw the post', async () =>
    (await readJson()).routes.some(({ route }) => route === 'postStats'),
  );
  const { code, out, err } = await runOnStreams((streams) => runTop(toConfig(), streams, { json: false }));

  assert.is(code, 0, err);
  assert.match(out, /ready$/m);
  assert.match(out, /^Node +Up +Requests\/s/m);
  assert.match(out, /^postStats +[\d.]+ +[\d.]+ +[\d.]+ +0$/m);
  assert.not.ok(out.includes('\u001b'));
});

test('on a terminal it draws each second over the last screen, and q gives the terminal back', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const out = Object.assign(new PassThrough(), { isTTY: true, columns: 60, rows: 12 });
  const ended = runTop(
    toConfig(),
    { input, out, err: out, signal: new AbortController().signal },
    { json: false },
  );
  let text = '';
  for await (const chunk of out) {
    text += chunk;
    if (text.split('\u001b[H').length === 3) break;
  }
  input.write('q');

  assert.is(await ended, 0);
  assert.ok(text.startsWith('\u001b[?1049h\u001b[?25l\u001b[H'));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the codes of the terminal.
  const lines = (text.split('\u001b[H')[1] ?? '').replace(/\u001b\[\d*[mKJ]/g, '').split('\n');
  assert.ok(lines.length <= 12, String(lines.length));
  for (const line of lines) assert.ok(line.length <= 60, line);
});

test('a wrong token, and no node, are one line that says what to do', async () => {
  const attempt = (settings: Record<string, string>) =>
    runOnStreams((streams) => runTop(toConfig(settings), streams, { json: false }), '');
  const refused = await attempt({ ADMIN_TOKEN: 'no-such-token-no-such-token-no-such-token' });
  const missing = await attempt({ ADMIN_PORT: '1' });

  assert.equal([refused.code, refused.err], [1, 'The node refuses: This is not the token of an operator.']);
  assert.is(missing.code, 1);
  assert.match(missing.err, /^No node answers at .* Start it, or set ADMIN_HOST and ADMIN_PORT/);
});

test('what is wrong is red and in words; long lines are cut', async () => {
  const frame: LiveFrame = { ...(await readJson()), ready: false, notes: ['Redis is away'], dead_letters: 3 };
  const lines = formatScreen(frame, { columns: 100, rows: 50, colour: true }).join('\n');

  for (const text of ['NOT READY', '! Redis is away', '3'])
    assert.ok(lines.includes(`\u001b[31m${text}`), text);
  for (const line of formatScreen(frame, { columns: 30, rows: 9, colour: false })) {
    assert.ok(line.length <= 30, line);
  }
  assert.is(formatScreen(frame, { columns: 30, rows: 9, colour: false }).length, 9);
});

test('durations show their two largest units', () => {
  assert.equal([0, 59, 3_661, 200_000].map(formatDuration), ['0 s', '59 s', '1 h 1 min', '2 d 7 h']);
});

test.run();
