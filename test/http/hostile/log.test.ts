/**
 * The log under attack: input of a client never becomes a line of its own and never fills the log, and
 * the log never has a token or secret.
 */
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRateLimitedLog, failuresPerSecondMax } from '../../../http/telemetry/rate-limited-log.ts';
import { forgetReplies } from '../../support/reply-count.ts';
import { openWorld as openRollcall } from '../api/world.ts';
import { fuzz } from '../fuzz/run.ts';
import { ask, openWorld, realClock } from '../world.ts';

const test = suite('hostile log');
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));

/** The product's logger at its most detailed level, writing to memory. */
const keep = () => {
  let text = '';
  const into = {
    write: (line: string) => {
      text += line;
    },
  };
  const logger = pino({ level: 'trace' }, into);
  const lines = (): string[] => text.split('\n').slice(0, -1);
  /** The lines about failures; at this level every request has a line, too. */
  const listFailures = (): string[] => lines().filter((line) => JSON.parse(line).level >= 50);
  return { logger, text: () => text, lines, listFailures };
};

test('one failure is one line, whatever its message and its request contain', async () => {
  const log = keep();
  const world = await openWorld({ logger: log.logger });
  try {
    const nasty = 'first\nsecond\r\n{"level":60,"msg":"forged"}\u001b[31m red \u0007\u2028';
    const token = world.token('user', 'u1');
    const waiting = ask(world, 'PUT', '/users/u1/slow', {
      headers: { 'user-auth': token, 'user-agent': 'y'.repeat(2_000) },
    });
    for (let look = 0; world.facade.inFlight === 0 && look < 2_000; look++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    world.break(new Error(nasty));

    assert.is((await waiting).status, 500);
    const lines = log.listFailures();
    assert.is(lines.length, 1);
    assert.match(JSON.parse(lines[0] ?? '').err.message, 'forged');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what no line may hold.
    assert.not.match(lines[0] ?? '', /[\u0000-\u001f\u007f]/);
    assert.not.match(log.text(), token);
    assert.not.match(log.text(), 'yyyy');
  } finally {
    forgetReplies();
    await world.close();
  }
});

test('a flood of failures is a few lines', async () => {
  const log = keep();
  const world = await openWorld({ logger: createRateLimitedLog(log.logger, realClock) });
  try {
    const startedMs = performance.now();
    const statuses: number[] = [];
    for (let round = 0; round < 50; round++) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => ask(world, 'GET', '/things/broken', {})),
      );
      statuses.push(...answers.map(({ status }) => status));
    }
    const seconds = Math.ceil((performance.now() - startedMs) / 1_000) + 1;

    assert.is(statuses.filter((status) => status === 500).length, 500);
    const failures = log.listFailures().length;
    assert.ok(failures >= 1 && failures <= failuresPerSecondMax * seconds);
  } finally {
    forgetReplies();
    await world.close();
  }
});

test(`2,000 generated requests leave no token and no secret in the log (SEED=${seed})`, async () => {
  const log = keep();
  const world = await openRollcall({ logger: log.logger });
  try {
    const before = log.text();
    await fuzz(world, { requests: 2_000, seed });
    log.logger.error({ err: new Error('the end') }, 'request failed');

    assert.is(before, '');
    assert.match(log.text(), 'the end');
    assert.not.match(log.text(), /rc_(user|bot|server|team)_/);
    assert.not.match(log.text(), /authorization|user-auth|p256dh|token_hash/i);
    for (const line of log.lines()) assert.type(JSON.parse(line), 'object');
  } finally {
    await world.close();
  }
});

test.run();
