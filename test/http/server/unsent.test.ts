/**
 * The bounds of what clients do not read: a reader that is too slow is cut, and of an address or a node that
 * holds too much the one that stood still for longest.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UnsentReplies, type UnsentReply } from '../../../http/server/unsent.ts';

const test = suite('unsent replies');
const mebibyte = 1_048_576;

/** A reply that sends `perRetry` bytes at each attempt. */
const holdReply = (all: UnsentReplies, megabytes: number, perRetry = 0) => {
  const reply = {
    sentBytes: 0,
    unsentBytes: megabytes * mebibyte,
    reason: '',
    flush: () => {
      reply.sentBytes += perRetry;
      reply.unsentBytes -= perRetry;
    },
    cut: (reason: string) => {
      reply.reason = reason;
      all.remove(reply as UnsentReply);
    },
  };
  return reply;
};

/** Retries every two seconds. */
const passTime = (all: UnsentReplies, fromMs: number, toMs: number): void => {
  for (let nowMs = fromMs; nowMs <= toMs; nowMs += 2_000) all.retry(nowMs);
};

test('less than 64 KiB in a minute is too slow, more is not, at any time', () => {
  const all = new UnsentReplies();
  const [still, slow, steady] = [holdReply(all, 1), holdReply(all, 1, 2), holdReply(all, 9, 3_000)];
  for (const reply of [still, slow, steady]) all.add(reply, 'a', 0);

  passTime(all, 2_000, 58_000);
  assert.equal([still.reason, slow.reason, steady.reason], ['', '', '']);
  passTime(all, 60_000, 240_000);

  assert.equal([still.reason, slow.reason, steady.reason], ['slow', 'slow', '']);
  all.remove(steady);
  assert.is(all.bytes, 0);
});

test('a reader that stops is cut a minute after its last bytes', () => {
  const all = new UnsentReplies();
  const reply = holdReply(all, 9, 100_000);
  all.add(reply, 'a', 0);
  passTime(all, 2_000, 70_000);
  reply.flush = () => undefined;

  passTime(all, 72_000, 128_000);
  assert.is(reply.reason, '');
  passTime(all, 130_000, 130_000);

  assert.is(reply.reason, 'slow');
});

test('above 16 MiB of an address its connection that stood still for longest is cut, no other', () => {
  const all = new UnsentReplies();
  const other = holdReply(all, 12);
  all.add(other, 'b', 0);
  const [first, second, third] = [holdReply(all, 6), holdReply(all, 6, 1_000), holdReply(all, 6)];
  all.add(first, 'a', 1_000);
  all.add(second, 'a', 500);
  all.retry(2_000);

  all.add(third, 'a', 3_000);

  assert.equal([first.reason, second.reason, third.reason, other.reason], ['address', '', '', '']);
  for (const reply of [second, third, other]) all.remove(reply);
});

test('one reply may be larger than what an address may hold', () => {
  const all = new UnsentReplies();
  const reply = holdReply(all, 20);

  all.add(reply, 'a', 0);

  assert.is(reply.reason, '');
  all.remove(reply);
});

test('above 256 MiB together the one that took nothing for longest is cut; small ones count 16 KiB', () => {
  const all = new UnsentReplies();
  const replies = Array.from({ length: 26 }, () => holdReply(all, 10));
  for (const [index, reply] of replies.entries()) all.add(reply, `address ${index}`, index);

  assert.equal(
    replies.map(({ reason }) => reason).filter((reason) => reason !== ''),
    ['node'],
  );
  assert.is(replies[0]?.reason, 'node');
  for (const reply of replies) all.remove(reply);
  const small = holdReply(all, 0);
  all.add(small, 'a', 0);
  assert.is(all.bytes, 16_384);
  all.remove(small);
});

test.run();
