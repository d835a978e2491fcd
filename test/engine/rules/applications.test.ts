/**
 * The rules of applications by table: answers and their lengths, bans, and the bots that applications name.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  canApply,
  canRequest,
  findBotRule,
  type Question,
  validateAnswers,
} from '../../../engine/rules/applications.ts';

const test = suite('applications');

const ask = (id: string, short: boolean): Question => ({
  id,
  question: 'Why?',
  paragraph: '',
  placeholder: '',
  short,
});
const owl = '\u{1F989}';

test('answers of a valid length (in code points) pass; answers to unknown questions are dropped', () => {
  const questions = [ask('line', true), ask('text', false)];
  for (const answers of [
    { line: 'x', text: 'x'.repeat(50) },
    { line: owl.repeat(4_096), text: owl.repeat(10_000) },
    { line: ' x ', text: ` ${'x '.repeat(25)}x\n` },
  ]) {
    assert.equal(validateAnswers(questions, { ...answers, other: 'x' }), { kind: 'fine', answers });
  }
  assert.equal(validateAnswers([], { a: 'b' }), { kind: 'fine', answers: {} });
});

test('every answer that is missing, blank, too short or too long is named', () => {
  const questions = [ask('line', true), ask('text', false)];
  const good = { line: 'x', text: 'x'.repeat(50) };
  for (const [answers, faulty] of [
    [{}, ['line', 'text']],
    [{ ...good, line: '' }, ['line']],
    [{ ...good, line: ' \n' }, ['line']],
    [{ ...good, line: 'x'.repeat(4_097) }, ['line']],
    [{ ...good, text: 'x'.repeat(49) }, ['text']],
    [{ ...good, text: owl.repeat(49) }, ['text']],
    [{ ...good, text: ' '.repeat(60) }, ['text']],
    [{ ...good, text: `${' '.repeat(49)}x` }, ['text']],
    [{ ...good, text: `x${' '.repeat(49)}x` }, ['text']],
    [{ ...good, text: `x${'\u3164'.repeat(49)}x` }, ['text']],
    [{ line: '\u200b\u2060', text: '\u200b'.repeat(60) }, ['line', 'text']],
    [{ ...good, text: 'x'.repeat(10_001) }, ['text']],
  ] as const) {
    const verdict = validateAnswers(questions, answers);
    assert.is(verdict.kind, 'faulty', JSON.stringify(answers).slice(0, 80));
    assert.equal(verdict.kind === 'faulty' && Object.keys(verdict.faults), faulty);
  }
});

test('an inherited property of an object is not an answer', () => {
  assert.is(validateAnswers([ask('constructor', true), ask('toString', true)], {}).kind, 'faulty');
  assert.is(findBotRule('constructor'), null);
});

test('banned users may appeal and nothing else', () => {
  assert.equal(
    [
      canApply(true, 'banappeal'),
      canApply(true, 'staff'),
      canApply(false, 'staff'),
      canApply(false, 'banappeal'),
    ],
    [true, false, true, true],
  );
});

test('certification requires an approved bot with 100 servers and 30 visitors', () => {
  const lacking = findBotRule('certification')?.listMissing;
  const good = { type: 'approved', servers: 100n, uniqueClicks: 30 };

  assert.equal(lacking?.(good), {});
  for (const [bot, fields] of [
    [{ ...good, type: 'pending' }, ['type']],
    [{ ...good, type: 'certified' }, ['type']],
    [{ ...good, servers: 99n }, ['servers']],
    [{ ...good, uniqueClicks: 29 }, ['unique_clicks']],
    [{ type: 'denied', servers: 0n, uniqueClicks: 0 }, ['type', 'servers', 'unique_clicks']],
  ] as const) {
    assert.equal(Object.keys(lacking?.(bot) ?? {}), fields);
  }
});

test('only denied bots can be resubmitted', () => {
  const lacking = findBotRule('resubmit')?.listMissing;
  const bot = { type: 'denied', servers: 0n, uniqueClicks: 0 };

  assert.equal(lacking?.(bot), {});
  assert.equal(Object.keys(lacking?.({ ...bot, type: 'approved' }) ?? {}), ['type']);
});

test('a position about a bot must have a short question for the bot', () => {
  assert.is(canRequest('staff', []), true);
  assert.is(canRequest('certification', [ask('bot_id', true), ask('why', false)]), true);
  assert.is(canRequest('certification', [ask('bot_id', false)]), false);
  assert.is(canRequest('resubmit', [ask('why', true)]), false);
});

test.run();
