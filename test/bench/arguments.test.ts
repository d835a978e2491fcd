/**
 * The words of `npm run bench`: what they mean, and which are refused before anything is started.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseArguments } from '../../bench/arguments.ts';
import { runCompare } from '../../bench/commands/compare.ts';
import { runTokens } from '../../bench/commands/tokens.ts';
import { ArgumentError } from '../../bench/options.ts';
import { readTokens } from '../../bench/servers/target.ts';
import { assertExcludes } from '../support/assert-includes.ts';
import { makeFolder } from '../support/folder.ts';

const test = suite('bench arguments');
const folder = makeFolder('rollcall-bench-words-');

const refused = (words: readonly string[]): string => {
  try {
    parseArguments(words);
  } catch (error) {
    assert.instance(error, ArgumentError);
    return (error as Error).message;
  }
  throw new Error(`${words.join(' ')} was taken`);
};
const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

test('a quick run has five rounds of the four scenarios with targets, on Redis, 256 connections', () => {
  const options = parseArguments(['--quick']);

  assert.equal(options.scenarios, ['stats', 'read', 'page', 'vote']);
  assert.is(options.rounds, 5);
  assert.is(options.stores, 'redis');
  assert.is(options.connections, 256);
});

test('without words every scenario runs', () => {
  const options = parseArguments([]);

  assert.ok(options.scenarios.includes('idle') && options.scenarios.includes('mixed'));
});

test('scenarios are run in one order, whatever order they are named in', () => {
  assert.equal(parseArguments(['--only', 'vote, stats']).scenarios, ['stats', 'vote']);
  assert.equal(parseArguments(['--only', 'site']).scenarios, ['page', 'listing', 'search']);
});

test('words that mean nothing are refused with what would', () => {
  assert.match(refused(['--only', 'posts']), /no scenario "posts".*stats/);
  assert.match(refused(['--rounds', '0']), /--rounds is "0".*from 1 to 100/);
  assert.match(refused(['--rounds', '1.5']), /whole number/);
  assert.match(refused(['--load', 'ab']), /auto, autocannon, wrk/);
  assert.match(refused(['--fast']), /--fast/);
});

test('a server elsewhere is loaded only when it is said to be one’s own, and then modestly', () => {
  const words = ['--url', 'https://directory.example', '--tokens', 'tokens.json'];

  assert.match(refused(words), /--i-own-this/);

  const options = parseArguments([...words, '--i-own-this']);
  assert.is(options.connections, 10);
  assert.is(options.rate, 100);
});

test('an address that only looks like this machine is elsewhere', () => {
  for (const host of ['127.0.0.1.example', 'localhost.example', '10.0.0.1']) {
    assert.match(refused(['--url', `http://${host}`, '--tokens', 'tokens.json']), /--i-own-this/);
  }
  assert.ok(parseArguments(['--url', 'http://127.0.0.1:8080', '--tokens', 'a']).target?.isLoopback);
  assert.ok(parseArguments(['--url', 'http://[::1]:8080', '--tokens', 'a']).target?.isLoopback);
});

test('an address goes with tokens and must be one', () => {
  assert.match(refused(['--url', 'http://127.0.0.1:8080']), /--tokens/);
  assert.match(refused(['--tokens', 'a']), /--url/);
  assert.match(refused(['--url', 'directory', '--tokens', 'a']), /must be like http/);
  assert.match(refused(['--url', 'ftp://127.0.0.1', '--tokens', 'a']), /must be like http/);
});

test('a tokens file says what is wrong with it', () => {
  const good = file('good.json', '{"bots":[{"id":"1","token":"t"}]}');

  assert.equal(readTokens(good), { bots: [{ id: '1', token: 't' }], users: [] });
  assert.throws(() => readTokens(join(folder, 'missing.json')), /cannot be read/);
  assert.throws(() => readTokens(file('broken.json', '{')), /cannot be read/);
  assert.throws(() => readTokens(file('empty.json', '{}')), /names no bots/);
  assert.throws(() => readTokens(file('odd.json', '{"bots":[{"id":1}]}')), /"bots" must be a list/);
});

test('tokens writes a directory without tokens, and tokens for its owner alone, over nothing', () => {
  const place = join(folder, 'load');

  const words = runTokens([place, '--bots', '3', '--users', '2']);

  const tokens = join(place, 'tokens.json');
  const directory = readTokens(tokens);
  assert.match(words, /npm run ops -- import/);
  assert.is(directory.bots.length, 3);
  assert.is(directory.users.length, 2);
  assert.is(statSync(tokens).mode & 0o777, 0o600);
  const imported = readFileSync(join(place, 'directory.jsonl'), 'utf8');
  assertExcludes(imported, directory.bots[0]?.token ?? '');
  assert.throws(() => runTokens([place]), /exists/);
  assert.throws(() => runTokens([]), /needs one folder/);
  assert.throws(() => runTokens([join(folder, 'other'), '--bots', '0']), /--bots is "0"/);
});

test('compare needs two results of this suite', () => {
  const other = file('other.json', '{"version":2}');

  assert.throws(() => runCompare([other]), /needs two files/);
  assert.throws(() => runCompare([other, other]), /not a result of this suite/);
  assert.throws(() => runCompare([join(folder, 'missing.json'), other]), /cannot be read/);
});

test.run();
